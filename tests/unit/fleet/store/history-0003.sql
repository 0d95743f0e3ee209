-- A history as tunecheck left it with schema 0003: six hosts, three audits, two changes, a check that fails, a
-- night of silence, an accepted value.
BEGIN TRANSACTION;
CREATE TABLE audit (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	started DOUBLE NOT NULL, 
	finished DOUBLE, 
	scope TEXT NOT NULL, 
	asked INTEGER NOT NULL, 
	asked_id INTEGER, 
	tunecheck TEXT NOT NULL, 
	catalogue INTEGER NOT NULL, 
	"trigger" TEXT NOT NULL, 
	note TEXT NOT NULL, 
	rebaselined BOOLEAN NOT NULL, 
	pruned BOOLEAN NOT NULL
);
INSERT INTO "audit" VALUES(1,1800086400.0,1800086460.0,'inventory',6,1,'0.1.0',1,'pull','',0,0);
INSERT INTO "audit" VALUES(2,1800172860.0,1800172920.0,'inventory',6,1,'0.1.0',1,'pull','',0,0);
INSERT INTO "audit" VALUES(3,1800259320.0,1800259380.0,'inventory',6,1,'0.1.0',1,'pull','',0,0);
CREATE TABLE fact (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "fact" VALUES(1,'cpu.smt');
INSERT INTO "fact" VALUES(2,'gpu.vbios');
INSERT INTO "fact" VALUES(3,'kernel.running');
CREATE TABLE finding (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"check" TEXT NOT NULL, 
	subject TEXT NOT NULL
);
INSERT INTO "finding" VALUES(1,'smt','SMT');
CREATE TABLE finding_span (
	host_id INTEGER NOT NULL, 
	finding_id INTEGER NOT NULL, 
	from_audit INTEGER NOT NULL, 
	until_audit INTEGER, 
	outcome TEXT NOT NULL, 
	after_audit INTEGER, 
	PRIMARY KEY (host_id, finding_id, from_audit)
)
 WITHOUT ROWID

;
INSERT INTO "finding_span" VALUES(1,1,2,NULL,'fail',1);
CREATE TABLE host (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"key" TEXT, 
	claimed TEXT, 
	name TEXT NOT NULL, 
	grp TEXT NOT NULL, 
	hardware TEXT NOT NULL, 
	first_audit INTEGER NOT NULL, 
	last_audit INTEGER NOT NULL, 
	answered_audit INTEGER, 
	snap_from INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	about_id INTEGER NOT NULL, 
	state BLOB, 
	retired_audit INTEGER, 
	UNIQUE ("key")
);
INSERT INTO "host" VALUES(1,'key a',NULL,'a','g','hw',1,3,3,1,'ok',2,X'6015BF52876F77C0E5FED94A7F37BFBF',NULL);
INSERT INTO "host" VALUES(2,'key b',NULL,'b','g','hw',1,3,3,1,'ok',2,X'3C0A7A832E53B240C70FAC7CBA7BF3D4',NULL);
INSERT INTO "host" VALUES(3,'key c',NULL,'c','g','hw',1,3,3,1,'ok',2,X'22AEC30BD6CE3B6325303237C09FC8DC',NULL);
INSERT INTO "host" VALUES(4,'key d',NULL,'d','g','hw',1,3,3,1,'ok',2,X'22AEC30BD6CE3B6325303237C09FC8DC',NULL);
INSERT INTO "host" VALUES(5,'key e',NULL,'e','g','hw',1,3,3,1,'ok',2,X'22AEC30BD6CE3B6325303237C09FC8DC',NULL);
INSERT INTO "host" VALUES(6,'key f',NULL,'f','g','hw',1,3,3,3,'ok',2,X'22AEC30BD6CE3B6325303237C09FC8DC',NULL);
CREATE TABLE identity (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	audit_id INTEGER NOT NULL, 
	host_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	other TEXT NOT NULL
);
CREATE TABLE journal (
	host_id INTEGER NOT NULL, 
	run TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	first_audit INTEGER NOT NULL, 
	last_audit INTEGER NOT NULL, 
	PRIMARY KEY (host_id, run)
)
 WITHOUT ROWID

;
CREATE TABLE newest (
	host_id INTEGER NOT NULL, 
	audit_id INTEGER NOT NULL, 
	boot_id TEXT, 
	volatile TEXT NOT NULL, 
	problems TEXT NOT NULL, 
	outcomes TEXT NOT NULL, 
	document BLOB NOT NULL, 
	PRIMARY KEY (host_id)
);
INSERT INTO "newest" VALUES(1,3,NULL,'{}','[{"check":"smt","commands":[],"expected":"on","needs_reboot":false,"outcome":"fail","remedy":"","subject":"SMT","tags":[],"text":"SMT is off"}]','{}',X'28B52FFD20021100007B7D');
INSERT INTO "newest" VALUES(2,3,NULL,'{}','[]','{}',X'28B52FFD20021100007B7D');
INSERT INTO "newest" VALUES(3,3,NULL,'{}','[]','{}',X'28B52FFD20021100007B7D');
INSERT INTO "newest" VALUES(4,3,NULL,'{}','[]','{}',X'28B52FFD20021100007B7D');
INSERT INTO "newest" VALUES(5,3,NULL,'{}','[]','{}',X'28B52FFD20021100007B7D');
INSERT INTO "newest" VALUES(6,3,NULL,'{}','[]','{}',X'28B52FFD20021100007B7D');
CREATE TABLE snap (
	host_id INTEGER NOT NULL, 
	from_audit INTEGER NOT NULL, 
	to_audit INTEGER, 
	status TEXT NOT NULL, 
	about_id INTEGER NOT NULL, 
	PRIMARY KEY (host_id, from_audit)
)
 WITHOUT ROWID

;
INSERT INTO "snap" VALUES(1,1,NULL,'ok',2);
INSERT INTO "snap" VALUES(2,1,NULL,'ok',2);
INSERT INTO "snap" VALUES(3,1,NULL,'ok',2);
INSERT INTO "snap" VALUES(4,1,NULL,'ok',2);
INSERT INTO "snap" VALUES(5,1,NULL,'ok',2);
INSERT INTO "snap" VALUES(6,1,1,'ok',2);
INSERT INTO "snap" VALUES(6,2,2,'unreachable',7);
INSERT INTO "snap" VALUES(6,3,NULL,'ok',2);
CREATE TABLE span (
	host_id INTEGER NOT NULL, 
	fact_id INTEGER NOT NULL, 
	from_audit INTEGER NOT NULL, 
	until_audit INTEGER, 
	value_id INTEGER NOT NULL, 
	before_id INTEGER, 
	after_audit INTEGER, 
	baseline BOOLEAN NOT NULL, 
	PRIMARY KEY (host_id, fact_id, from_audit)
)
 WITHOUT ROWID

;
INSERT INTO "span" VALUES(1,1,1,2,3,NULL,NULL,1);
INSERT INTO "span" VALUES(1,1,2,NULL,6,3,1,0);
INSERT INTO "span" VALUES(1,2,1,NULL,4,NULL,NULL,1);
INSERT INTO "span" VALUES(1,3,1,NULL,5,NULL,NULL,1);
INSERT INTO "span" VALUES(2,1,1,NULL,3,NULL,NULL,1);
INSERT INTO "span" VALUES(2,2,1,3,4,NULL,NULL,1);
INSERT INTO "span" VALUES(2,2,3,NULL,8,4,2,0);
INSERT INTO "span" VALUES(2,3,1,NULL,5,NULL,NULL,1);
INSERT INTO "span" VALUES(3,1,1,NULL,3,NULL,NULL,1);
INSERT INTO "span" VALUES(3,2,1,NULL,4,NULL,NULL,1);
INSERT INTO "span" VALUES(3,3,1,NULL,5,NULL,NULL,1);
INSERT INTO "span" VALUES(4,1,1,NULL,3,NULL,NULL,1);
INSERT INTO "span" VALUES(4,2,1,NULL,4,NULL,NULL,1);
INSERT INTO "span" VALUES(4,3,1,NULL,5,NULL,NULL,1);
INSERT INTO "span" VALUES(5,1,1,NULL,3,NULL,NULL,1);
INSERT INTO "span" VALUES(5,2,1,NULL,4,NULL,NULL,1);
INSERT INTO "span" VALUES(5,3,1,NULL,5,NULL,NULL,1);
INSERT INTO "span" VALUES(6,1,1,NULL,3,NULL,NULL,1);
INSERT INTO "span" VALUES(6,2,1,NULL,4,NULL,NULL,1);
INSERT INTO "span" VALUES(6,3,1,NULL,5,NULL,NULL,1);
CREATE TABLE tunecheck_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT tunecheck_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "tunecheck_version" VALUES('0003');
CREATE TABLE turn (
	name TEXT NOT NULL, 
	audit_id INTEGER NOT NULL, 
	node TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	ticks BIGINT NOT NULL, 
	since DOUBLE NOT NULL, 
	beat DOUBLE NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID

;
CREATE TABLE value (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	hash BLOB NOT NULL, 
	json TEXT NOT NULL, 
	UNIQUE (hash)
);
INSERT INTO "value" VALUES(1,X'1B2038396DABE0E62B7195F2B4338F3A','[["a","g"],["b","g"],["c","g"],["d","g"],["e","g"],["f","g"]]');
INSERT INTO "value" VALUES(2,X'943481642D31C218918F8910F437F856','{"checks":[],"group":"g","hardware":"hw","reason":"","spec":null,"tunecheck":"0.1.0","unknown":{}}');
INSERT INTO "value" VALUES(3,X'B30EE95EC6CDA01EB712D912431FE867','true');
INSERT INTO "value" VALUES(4,X'0BC284F28B18BD8CA691F24DFFEAA14F','["98.02"]');
INSERT INTO "value" VALUES(5,X'508F13484EB217E71A7AB97173FC09F6','"6.12.1"');
INSERT INTO "value" VALUES(6,X'35AFD3D938728E0F4B4B78BBD4DBFDAA','false');
INSERT INTO "value" VALUES(7,X'DE0EC90B14D26B7BF68F3FA8B14B7D79','{"checks":[],"group":"g","hardware":"","reason":"no route to host","spec":null,"tunecheck":"","unknown":{}}');
INSERT INTO "value" VALUES(8,X'832D579FB11B63191F85068EA7EFDF1C','["98.03"]');
CREATE TABLE waiver (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	fact TEXT NOT NULL, 
	host TEXT, 
	grp TEXT, 
	value TEXT, 
	until DOUBLE, 
	reason TEXT NOT NULL, 
	author TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	last_matched INTEGER
);
INSERT INTO "waiver" VALUES(1,'accept','kernel.running','c',NULL,NULL,NULL,'bench','ann',1800259380.0,NULL);
CREATE UNIQUE INDEX host_name ON host (name) WHERE retired_audit IS NULL;
CREATE INDEX span_now ON span (host_id, fact_id, value_id, after_audit, until_audit) WHERE until_audit IS NULL;
CREATE INDEX span_baseline ON span (from_audit, host_id, fact_id, baseline) WHERE baseline = 1;
CREATE INDEX span_change ON span (from_audit, host_id, fact_id, before_id, value_id, after_audit, baseline) WHERE baseline = 0;
CREATE INDEX ix_identity_audit_id ON identity (audit_id);
CREATE UNIQUE INDEX finding_name ON finding ("check", subject);
CREATE INDEX ix_finding_span_until_audit ON finding_span (until_audit);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('value',8);
INSERT INTO "sqlite_sequence" VALUES('audit',3);
INSERT INTO "sqlite_sequence" VALUES('host',6);
INSERT INTO "sqlite_sequence" VALUES('fact',3);
INSERT INTO "sqlite_sequence" VALUES('finding',1);
INSERT INTO "sqlite_sequence" VALUES('waiver',1);
COMMIT;
