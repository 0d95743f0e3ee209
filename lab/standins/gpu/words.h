/* Words that tell a stand-in library what to be, read when it is loaded: NAME=VALUE separated by white space; lists are
 * A,B,C. They are in an environment variable, or where that is not set in a file of /etc/tunecheck-standin, which
 * services and containers of the lab's box meet too. */
#ifndef WORDS_H
#define WORDS_H
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS "/etc/tunecheck-standin"

typedef uint64_t u64;
typedef uint32_t u32;

static struct { char name[24], value[104]; } words[64];
static int word_count;
/* Whether no variable describes a machine: then the boards are those of the kernel module (driver.h). */
static int on_a_box;

static void read_words(const char *variable, const char *file)
{
    char text[4096] = "", path[256];
    const char *all = getenv(variable);
    on_a_box = all == NULL;
    if (all) {
        snprintf(text, sizeof text, "%s", all);
    } else {
        snprintf(path, sizeof path, SETTINGS "/%s", file);
        FILE *stream = fopen(path, "r");
        if (stream) {
            text[fread(text, 1, sizeof text - 1, stream)] = 0;
            fclose(stream);
        }
    }
    char *rest = text;
    for (char *word; (word = strsep(&rest, " \t\n")) && word_count < 64;) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = 0;
        snprintf(words[word_count].name, sizeof words[0].name, "%s", word);
        snprintf(words[word_count++].value, sizeof words[0].value, "%s", value);
    }
}

__attribute__((unused)) static const char *word(const char *name)
{
    for (int i = 0; i < word_count; i++)
        if (!strcmp(words[i].name, name))
            return words[i].value;
    return NULL;
}

__attribute__((unused)) static double number(const char *name, double otherwise)
{
    const char *text = word(name);
    return text ? atof(text) : otherwise;
}

/* The last number of NAME=A,B,NUMBER, or `otherwise` where no such word is there; -1 for a word without it. */
__attribute__((unused)) static double between(const char *name, int a, int b, double otherwise)
{
    for (int i = 0; i < word_count; i++) {
        int x = -1, y = -1;
        double value = -1;
        if (!strcmp(words[i].name, name) && sscanf(words[i].value, "%d,%d,%lf", &x, &y, &value) >= 2 && x == a
            && y == b)
            return value;
    }
    return otherwise;
}
#endif
