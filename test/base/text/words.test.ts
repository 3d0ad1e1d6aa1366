import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allWordsIn, stemOf, wordsIn } from '../../../src/base/text/words.ts'

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
