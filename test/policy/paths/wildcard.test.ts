import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesWildcard } from '../../../src/policy/paths/wildcard.ts'

function check(rows: [pattern: string, fits: string[], fitsNot: string[]][]): void {
  for (const [pattern, fits, fitsNot] of rows) {
    for (const text of fits) assert.ok(matchesWildcard(pattern, text), `${pattern} is for ${text}`)
    for (const text of fitsNot) assert.ok(!matchesWildcard(pattern, text), `${pattern} is not for ${text}`)
  }
}

test('a text without signs fits itself alone', () => {
  check([
    ['abc', ['abc'], ['ab', 'abcd', 'abd', 'xabc', '']],
    ['', [''], ['a']],
  ])
})

test('a star stands for any number of letters, also for none, and several are tried in every way', () => {
  check([
    ['*', ['', 'a', 'abc', '*'], []],
    ['a*', ['a', 'ab', 'abc', 'a*'], ['ba', '']],
    ['*a', ['a', 'ba', 'aaa'], ['ab', '']],
    ['a*b*c', ['abc', 'a-b-c', 'abbcc', 'abcbc'], ['acb', 'ab', 'abcd']],
    ['*ab*ab', ['abab', 'xababab', 'ab-ab'], ['ab', 'abx']],
    ['a**', ['a', 'ab'], ['b']],
    ['**', ['', 'x'], []],
  ])
})

test('a pattern with stars that fits nothing is given up at once', () => {
  assert.ok(!matchesWildcard(`${'*a'.repeat(40)}b`, 'a'.repeat(4000)))
})

test('a question mark stands for one letter', () => {
  check([
    ['?', ['a', '*', '?'], ['', 'ab']],
    ['a?c', ['abc', 'a?c'], ['ac', 'abbc']],
    ['*?', ['a', 'ab'], ['']],
  ])
})

test('brackets stand for one of their letters, and ranges for those between', () => {
  check([
    ['[abc]', ['a', 'b', 'c'], ['d', '', 'ab', '[abc]']],
    ['x[ab]y', ['xay', 'xby'], ['xy', 'xcy', 'xaby']],
    ['[b-d]', ['b', 'c', 'd'], ['a', 'e', '-']],
    ['[b-dx]', ['b', 'c', 'd', 'x'], ['a', 'e', 'w', '-']],
    ['[xb-d]', ['x', 'b', 'c'], ['a', 'y', '-']],
    ['[a-]', ['a', '-'], ['b']],
    ['[-a]', ['-', 'a'], ['b']],
    ['[ab]*', ['a', 'bx'], ['xa']],
    ['*[0-9]', ['a1', '9'], ['1a', 'a']],
    ['[a][b]', ['ab'], ['ba', 'a']],
  ])
})

test('brackets that begin with a mark of negation stand for every other letter', () => {
  check([
    ['[!a]', ['b', '!'], ['a', '']],
    ['[^a]', ['b', '^'], ['a']],
    ['[a!]', ['a', '!'], ['b']],
    ['[a^]', ['a', '^'], ['b']],
    ['[!b-d]', ['a', 'e'], ['b', 'c', 'd']],
  ])
})

test('a bracket that is never closed, and one right after its opening, are letters', () => {
  check([
    ['[', ['['], ['a', '']],
    ['[a', ['[a'], ['a', 'xa']],
    ['x[', ['x['], ['xy']],
    ['[]]', [']'], ['a', '[]]']],
    ['[]a]', [']', 'a'], ['b']],
  ])
})
