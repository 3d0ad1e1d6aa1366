import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeNames, encodeNames } from '../../src/base/names.ts'

test('bytes of any names come back as they were, and text stays text', () => {
  const name = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.string({ unit: 'grapheme' }).map(text => Buffer.from(text)),
  )
  const list = fc.array(name, { maxLength: 4 }).map(names => Buffer.concat(names.flatMap(each => [each, Buffer.of(0)])))
  fc.assert(
    fc.property(list, bytes => {
      const text = decodeNames(bytes)
      assert.deepEqual(Buffer.from(encodeNames(text)), bytes)
      const plain = bytes.toString()
      assert.equal(text.isWellFormed(), Buffer.from(plain).equals(bytes))
      if (text.isWellFormed()) assert.equal(text, plain)
    }),
  )
})

test('two names that are not UTF-8 are two names, and the text around a wrong byte is still to be read', () => {
  const [one, other] = [Buffer.from('61ff2e6a73', 'hex'), Buffer.from('61fe2e6a73', 'hex')].map(decodeNames)
  assert.notEqual(one, other)
  assert.equal(one?.toWellFormed(), 'a�.js')
  assert.equal(decodeNames(Buffer.from('61ff00c3a400', 'hex')).slice(-3), '\0ä\0')
})
