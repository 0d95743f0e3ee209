// The kernels of `tunecheck p2p` and `tunecheck allreduce`. No includes; `make ptx` compiles them to PTX text for
// compute_75, which the box's driver turns into code for its own GPU (38 to 51 ms once on H200): no toolkit on the box.
//
// Every wait is bounded by a number of clocks. On a timeout a kernel writes that down and returns: a kernel that spins for
// ever is a GPU that only a reset gets back.
typedef unsigned long long u64;
typedef unsigned int u32;

__device__ __forceinline__ u64 now_ns() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ __forceinline__ u32 load_sys(const u32* p) {
  u32 v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_sys(u32* p, u32 v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ uint4 load_16(const uint4* p) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_16(uint4* p, uint4 v) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ u32 add_f16x2(u32 a, u32 b) {
  u32 c;
  asm("add.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}

// A word that depends on its offset and on a seed: a stale buffer, a shifted one or one of another transfer never matches.
__device__ __forceinline__ u32 word(u64 i, u32 seed) {
  u32 x = (u32)i ^ (u32)(i >> 32) * 0x9e3779b9U ^ seed;
  x ^= x >> 16; x *= 0x7feb352dU;
  x ^= x >> 15; x *= 0x846ca68bU;
  return x ^ x >> 16;
}

extern "C" __global__ void tc_fill(u32* p, u64 n, u32 seed) {
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) p[i] = word(i, seed);
}

// bad[0] counts words that differ, bad[1..2] is the offset of one of them (low, high), bad[3] what stood there.
extern "C" __global__ void tc_check(const u32* p, u64 n, u32 seed, u32* bad) {
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
    u32 found = p[i];
    if (found != word(i, seed) && atomicAdd(bad, 1u) == 0) { bad[1] = (u32)i; bad[2] = (u32)(i >> 32); bad[3] = found; }
  }
}

// 16 bytes a thread, 8 loads in flight. Without __restrict__: with it ptxas keeps only one or two in flight.
extern "C" __global__ void __launch_bounds__(512) tc_copy(uint4* dst, const uint4* src, u64 n, u32 loops) {
  u64 stride = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  for (u32 l = 0; l < loops; l++) {
    u64 i = first;
    for (; i + 7 * stride < n; i += 8 * stride) {
      uint4 r[8];
#pragma unroll
      for (int k = 0; k < 8; k++) r[k] = src[i + k * stride];
#pragma unroll
      for (int k = 0; k < 8; k++) dst[i + k * stride] = r[k];
    }
    for (; i < n; i += stride) dst[i] = src[i];
  }
}

// Dependent loads: each needs the answer of the one before. Only block `target` works, so that every SM can be asked: one
// alone reads up to 3 % off, by its place on the chip. out: nanoseconds, last pointer.
extern "C" __global__ void tc_chase(const u64* start, u32 n, u32 target, u64* out) {
  if (blockIdx.x != target) return;
  const u64* p = start;
  u64 before = now_ns();
  for (u32 i = 0; i < n; i++) p = (const u64*)*p;
  out[1] = (u64)p;
  out[0] = now_ns() - before;
}

// Two kernels, one a GPU: each stores a number into the other's memory and waits for it in its own. out: nanoseconds of
// `rounds` round trips, rounds done, 1 where it gave up.
extern "C" __global__ void tc_pingpong(u32* mine, u32* peer, u32 base, u32 warm, u32 rounds, u32 first, u64 limit, u64* out) {
  u64 before = 0;
  out[2] = 0;
  for (u32 i = 1; i <= warm + rounds; i++) {
    if (i == warm + 1) before = now_ns();
    if (first) store_sys(peer, base + i);
    long long since = clock64();
    while (load_sys(mine) != base + i)
      if (clock64() - since > (long long)limit) { out[1] = i; out[2] = 1; return; }
    if (!first) store_sys(peer, base + i);
  }
  out[0] = now_ns() - before;
  out[1] = rounds;
}

// The time at which what was queued before it had ended.
extern "C" __global__ void tc_stamp(u64* stamps, u32 number) { stamps[number] = now_ns(); }

// One-shot all-reduce of f16 pairs over peer memory, for 2 to 8 ranks: 8 bytes of data travel with two 4-byte flags in one
// 16-byte store, so that data and "it is there" arrive together. Each rank writes its input into its slot of every peer's
// scratch, then sums all slots of its own in rank order: the same order everywhere, so the sums are equal to the bit.
// scratch: 2 halves (even and odd epochs) x ranks x cap slots of 16 bytes.
// ctl: [0] epoch, [1] ticket, [2] epoch at which it gave up (sticky: no later launch spins again), [3] whom it waited for.
struct Peers { uint4* scratch[8]; };
extern "C" __global__ void __launch_bounds__(512) tc_reduce(const uint2* in, uint2* out,
                                                            const __grid_constant__ Peers peers, u32 rank, u32 ranks,
                                                            u32 n, u32 cap, u32* ctl, u64 limit, u64* stamps) {
  __shared__ u32 epoch, given_up;
  if (threadIdx.x == 0) { epoch = load_sys(ctl) + 1; given_up = load_sys(ctl + 2); }
  __syncthreads();
  if (given_up) return;
  u32 flag = epoch;
  u64 half = (u64)(flag & 1) * ranks * cap;
  u32 stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (u32 i = first; i < n; i += stride) {
    uint2 v = in[i];
    uint4 packed = make_uint4(v.x, flag, v.y, flag);
    for (u32 step = 1; step < ranks; step++) {
      u32 to = rank + step < ranks ? rank + step : rank + step - ranks;
      store_16(peers.scratch[to] + half + (u64)rank * cap + i, packed);
    }
  }
  const uint4* mine = peers.scratch[rank] + half;
  for (u32 i = first; i < n; i += stride) {
    uint2 own = in[i], sum = make_uint2(0, 0);
    for (u32 from = 0; from < ranks; from++) {
      uint2 v = own;
      if (from != rank) {
        const uint4* slot = mine + (u64)from * cap + i;
        uint4 r = load_16(slot);
        if (r.y != flag || r.w != flag) {
          long long since = clock64();
          do {
            r = load_16(slot);
            if (clock64() - since > (long long)limit) { store_sys(ctl + 3, from); store_sys(ctl + 2, flag); break; }
          } while (r.y != flag || r.w != flag);
        }
        v = make_uint2(r.x, r.z);
      }
      sum = from ? make_uint2(add_f16x2(sum.x, v.x), add_f16x2(sum.y, v.y)) : v;
    }
    out[i] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(ctl + 1, 1u) == gridDim.x - 1) {      // the last block: the whole all-reduce is done
      stamps[flag & 4095] = now_ns();
      store_sys(ctl + 1, 0);
      __threadfence();
      store_sys(ctl, flag);
    }
  }
}
