import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_COMMAND, mayBeSlow, precheck } from '../../../src/policy/shell/parse.ts'

const said = (command: string) => precheck(command).map(({ code, risk, at }) => `${risk} ${code} ${at?.join('-')}`)

test('a command that is longer than anybody reads is not read', () => {
  assert.deepEqual(said('x'.repeat(MAX_COMMAND)), [])
  assert.deepEqual(said('\0'.repeat(MAX_COMMAND + 1)), [`HIGH shell.too-long 0-${MAX_COMMAND + 1}`])
  assert.equal(mayBeSlow('x'.repeat(MAX_COMMAND + 1)), false)
})

test('a long command, or one with many openers, is read where it can be ended', () => {
  assert.equal(mayBeSlow('x'.repeat(2048)), false)
  assert.equal(mayBeSlow('x'.repeat(2049)), true)
  assert.equal(mayBeSlow('x'.repeat(MAX_COMMAND)), true)
  for (const opener of ['(', '{', '`', '$[', '<<']) {
    assert.equal(mayBeSlow(opener.repeat(32)), false, opener)
    assert.equal(mayBeSlow(opener.repeat(33)), true, opener)
    assert.deepEqual(said(opener.repeat(33)), [`MEDIUM shell.openers 0-${33 * opener.length}`], opener)
    assert.deepEqual(said(opener.repeat(32)), [], opener)
  }
  assert.equal(mayBeSlow(') } $ ['.repeat(40)), false)
  assert.deepEqual(said(`ä${'('.repeat(33)}`), ['MEDIUM shell.openers 0-34'])
})

test('characters that hide, turn or break text are HIGH, each where it stands', () => {
  for (const sign of ['\0', '\x08', '\x0b', '\x0c', '\x0e', '\x1f', '\x7f', '\x80', '\x9f', '\r'])
    assert.deepEqual(said(`a${sign}b`), ['HIGH text.control 1-2'], JSON.stringify(sign))
  for (const sign of ['\u061c', '\u200e', '\u202a', '\u202e', '\u2066', '\u2069']) {
    const [first] = said(`a ${sign}b`)
    assert.equal(first, 'HIGH text.bidi 2-3', JSON.stringify(sign))
  }
  for (const sign of ['\u200b', '\u00ad', '\u2028', '\u2029', '\ufff9', '\ufeff', '\u{e0041}']) {
    const found = said(`a${sign}`)
    assert.deepEqual(found, [`HIGH text.invisible 1-${1 + sign.length}`], JSON.stringify(sign))
  }
  assert.deepEqual(said('ab\ud800'), ['HIGH text.broken 2-3'])
  assert.deepEqual(said('a\0\u202e'), ['HIGH text.control 1-2', 'HIGH text.bidi 2-3', 'HIGH text.invisible 2-3'])
})

test('tabs, line ends and everything that people write is nothing to speak of', () => {
  for (const text of ['a\tb', 'a\nb', 'a\r\nb', 'ä ö ü 日本', '👩‍💻', '☕️', '👍🏽‍x'.slice(0, 4), '~', ' '])
    assert.deepEqual(said(text), [], JSON.stringify(text))
})
