/*
 * The equation a[0] x[0] + … + a[n-1] x[n-1] = b with 0 <= x[i] <= u[i] and all a[i] > 0.
 *
 * Terms of one coefficient are merged: x + y takes every value of 0 … u + v. Sorted with the largest coefficient first,
 * let
 *
 *     g[i] = gcd(a[i], …, a[n-1])          what the tail's sum is a multiple of
 *     s[i] = a[i] u[i] + … + a[n-1] u[n-1]  the largest tail sum
 *
 * (g[n] = s[n] = 0). A tail can only give r when g[i] divides r and 0 <= r <= s[i]; for i = n - 1 that is also enough.
 * Otherwise x[i] must leave such an r for the tail after it:
 *
 *     a[i] x = r (mod g[i+1])   and   r - s[i+1] <= a[i] x <= r.
 *
 * With g = g[i] = gcd(a[i], g[i+1]) and m = g[i+1] / g the first is x = (r/g) (a[i]/g)^-1 (mod m), so that only every
 * m-th x in the second's interval is tried. For views whose axes nest (each stride spans the axes within it) the
 * interval holds at most a few, and the search ends at once; in general the problem is NP-complete, hence the bound on
 * the work.
 */
#include "diophantine.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

typedef struct search {
    const diophantine_term *terms;
    int n;
    int64_t divisor[DIOPHANTINE_TERMS + 1]; /* g */
    int64_t most[DIOPHANTINE_TERMS + 1];    /* s */
    int64_t inverse[DIOPHANTINE_TERMS];     /* of a[i] / g[i] modulo g[i+1] / g[i] */
    int64_t *work;
} search;

void diophantine_add(diophantine *equation, int64_t coefficient, int64_t bound) {
    if (bound > 0) {
        equation->terms[equation->n++] = (diophantine_term){coefficient, bound};
    }
}

/* Euclid's: gcd(a, b), and x with a x = gcd (mod b). */
static int64_t gcd_with_inverse(int64_t a, int64_t b, int64_t *x) {
    int64_t x0 = 1;
    int64_t x1 = 0;
    while (b != 0) {
        int64_t quotient = a / b;
        int64_t rest = a - quotient * b;
        int64_t x2 = x0 - quotient * x1;
        a = b;
        b = rest;
        x0 = x1;
        x1 = x2;
    }
    *x = x0;
    return a;
}

static int larger_first(const void *left, const void *right) {
    int64_t a = ((const diophantine_term *)left)->coefficient;
    int64_t b = ((const diophantine_term *)right)->coefficient;
    return (a < b) - (a > b);
}

/* False when a bound overflows. */
static bool sort_and_merge(diophantine *equation) {
    qsort(equation->terms, (size_t)equation->n, sizeof equation->terms[0], larger_first);
    int merged = 0;
    for (int i = 0; i < equation->n; ++i) {
        diophantine_term *last = merged > 0 ? &equation->terms[merged - 1] : NULL;
        if (last == NULL || last->coefficient != equation->terms[i].coefficient) {
            equation->terms[merged++] = equation->terms[i];
        } else if (__builtin_add_overflow(last->bound, equation->terms[i].bound, &last->bound)) {
            return false;
        }
    }
    equation->n = merged;
    return true;
}

/* Fills in g, s and the inverses; false when s overflows. */
static bool prepare(search *tail) {
    tail->divisor[tail->n] = 0;
    tail->most[tail->n] = 0;
    for (int i = tail->n - 1; i >= 0; --i) {
        const diophantine_term *term = &tail->terms[i];
        tail->divisor[i] = gcd_with_inverse(term->coefficient, tail->divisor[i + 1], &tail->inverse[i]);
        int64_t reach;
        if (__builtin_mul_overflow(term->coefficient, term->bound, &reach) ||
            __builtin_add_overflow(tail->most[i + 1], reach, &tail->most[i])) {
            return false;
        }
    }
    return true;
}

/* a b mod m, all at least 0. */
static int64_t multiply_modulo(int64_t a, int64_t b, int64_t m) {
    int64_t small = INT64_C(1) << 31;
    return m <= small ? (a % m) * (b % m) % m : (int64_t)((wide)a * b % m);
}

/* The least x >= low that leaves a multiple of g[i+1] of r >= 0. */
static int64_t first_candidate(const search *tail, int i, int64_t r, int64_t low, int64_t modulus) {
    int64_t inverse = tail->inverse[i] % modulus;
    int64_t x = multiply_modulo(r / tail->divisor[i], inverse < 0 ? inverse + modulus : inverse, modulus);
    int64_t ahead = x - low % modulus;
    return low + (ahead < 0 ? ahead + modulus : ahead);
}

/* Whether terms i … n-1 may sum to r. */
static bool may_reach(const search *tail, int i, int64_t r) {
    if (r < 0 || r > tail->most[i]) {
        return false;
    }
    if (i == tail->n) {
        return r == 0;
    }
    if (r % tail->divisor[i] != 0) {
        return false;
    }
    if (i == tail->n - 1) {
        return true;
    }
    const diophantine_term *term = &tail->terms[i];
    int64_t above = r - tail->most[i + 1];
    int64_t low = above > 0 ? (above - 1) / term->coefficient + 1 : 0;
    int64_t high = r / term->coefficient < term->bound ? r / term->coefficient : term->bound;
    int64_t modulus = tail->divisor[i + 1] / tail->divisor[i];
    for (int64_t x = first_candidate(tail, i, r, low, modulus); x <= high; x += modulus) {
        if (--*tail->work < 0 || may_reach(tail, i + 1, r - term->coefficient * x)) {
            return true;
        }
        if (high - x < modulus) {
            break;
        }
    }
    return false;
}

bool diophantine_may_have_solution(diophantine *equation, int64_t *work) {
    if (!sort_and_merge(equation)) {
        return true;
    }
    search tail = {.terms = equation->terms, .n = equation->n, .work = work};
    return !prepare(&tail) || may_reach(&tail, 0, equation->right);
}
