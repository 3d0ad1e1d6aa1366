import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { plainFront } from '../../src/knowledge/read-notes.ts'

test('what is read without the parser of YAML is what the parser reads', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'true',
      'No',
      'null',
      '~',
      '1e5',
      '12',
      '0x1f',
      'a: b',
      'a #b',
      '#a',
      '- a',
      '"a"',
      "'a'",
      '',
      ' ',
      'a ',
      '.5',
    ),
    fc.constantFrom(
      'Totals are cents',
      'größe',
      'b174a0250028',
      '123456789012',
      '1234e678',
      '2026-11-15T14:48:20.328Z',
      '2026-11-15',
      'a/b-c_d.e',
    ),
    fc.string({ maxLength: 8 }),
  )
  const value = fc.oneof(
    word,
    fc.array(word, { maxLength: 3 }).map(words => `[${words.join(', ')}]`),
  )
  const line = fc.tuple(fc.constantFrom('title', 'tags', 'by', 'seal'), value).map(([key, text]) => `${key}: ${text}`)
  let plain = 0
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 3 }), lines => {
      const text = lines.join('\n')
      const read = plainFront(text)
      if (read === undefined) return
      plain++
      assert.deepEqual(parse(text, { schema: 'core' }), read)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(plain > 100, 'many were plain')
})

test('what we write ourselves needs no parser', () => {
  const text =
    'title: Totals are cents\ntags: [cart, money]\ncreated_at: 2026-11-15T14:48:20.328Z\nby: agent\ntask: t-4227af\nseal: b174a0250028'
  assert.deepEqual(plainFront(text)?.['tags'], ['cart', 'money'])
  assert.equal(plainFront('title: a\ntitle: b'), undefined, 'the parser refuses it')
})
