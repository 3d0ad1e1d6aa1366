import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { allWordsIn, quoteForShell, splitWords, stemOf, wordsIn } from '../../src/base/words.ts'

test('words that say what a text is about are kept, in lower case and each once', () => {
  assert.deepEqual(wordsIn('Write the cartTotal of src/cart_total.ts, and the CART again: größe'), [
    'cart',
    'total',
    'src',
    'größe',
  ])
  assert.deepEqual(wordsIn('Use this file for the task'), [])
  assert.deepEqual(allWordsIn('CI on JS'), ['ci', 'on', 'js'])
})

test('a word and its other forms are one', () => {
  for (const [one, ...others] of [
    ['migration', 'migrations'],
    ['test', 'tests', 'testing', 'tested'],
    ['cache', 'caches', 'caching', 'cached'],
    ['query', 'queries'],
    ['process', 'processes'],
  ])
    for (const other of others) assert.equal(stemOf(other), stemOf(one ?? ''), other)
  assert.notEqual(stemOf('cart'), stemOf('card'))
})

test('a command line is split as a real shell splits it', () => {
  const lines = [
    'gemini --acp --model x',
    `'/opt/my agent/bin' "two words" th\\ ree`,
    `a'b'"c"d\\'e`,
    `"a \\"quoted\\" word" "back\\\\slash" "kept \\n"`,
    `'' "" x`,
    '  spaces \t between  ',
    `--header 'X: $HOME' '~' a~b a#b`,
  ]
  for (const line of lines) {
    const shell = execFileSync('/bin/sh', ['-c', `for w in ${line}; do printf '%s\\0' "$w"; done`], { env: {} })
    const words = shell.toString().split('\0').slice(0, -1)
    assert.deepEqual(splitWords(line), { words }, line)
  }
})

test('any list of words survives being quoted and split', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), words => {
      assert.deepEqual(splitWords(words.map(quoteForShell).join(' ')), { words })
    }),
  )
})

for (const [line, problem] of [
  [`a 'b`, /quote that is not closed \(character 3\)/],
  ['a "b', /quote that is not closed \(character 3\)/],
  ['a \\', /backslash with nothing behind it \(character 3\)/],
  ['a $HOME', /nothing is expanded here.*\(character 3\)/],
  ['a "$HOME"', /nothing is expanded here.*\(character 4\)/],
  ['a `id`', /nothing is expanded here/],
  ['~/bin/agent', /nothing is expanded here.*\(character 1\)/],
  ['a; rm x', /only a single plain command.*\(character 2\)/],
  ['a && b', /only a single plain command/],
  ['a > b', /only a single plain command/],
  ['a # b', /comment/],
  ['a\nb', /second line/],
  ['a\0b', /control character/],
] as const) {
  test(`${JSON.stringify(line)} is refused with what is wrong and where`, () => {
    const split = splitWords(line)
    assert.match('problem' in split ? split.problem : `it was split: ${split.words}`, problem)
  })
}
