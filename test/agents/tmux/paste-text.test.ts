import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pasteText } from '../../../src/agents/tmux/window/paste-text.ts'

test('lines, tabs and words of every script are pasted as they are', () => {
  const text = 'Write a file:\n\tein Müller, 日本語, 👍\n\nand "quotes", $HOME, `ticks`, \\n'
  assert.equal(pasteText(text), text)
  assert.equal(pasteText('one\r\ntwo\rthree'), 'one\ntwo\nthree')
})

test('a text cannot end the paste and go on as keys', () => {
  assert.equal(pasteText('a\u001b[201~\r!touch x\u0003\u0004'), 'a[201~\n!touch x')
  assert.equal(pasteText('a\u009b201~b\u007f'), 'a201~b')
})

test('a text that begins like a command of Claude Code is led in by words', () => {
  for (const text of ['!rm -rf .', '/clear', ' /cost', '\n!ls', '# remember this', '& later', '@secrets.txt', '?']) {
    assert.equal(pasteText(text), `What is to be done:\n${text}`)
  }
  assert.equal(pasteText('Say "!" twice'), 'Say "!" twice')
})

test('whatever is pasted holds no control character but line ends and tabs, and begins with no sign of a command', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const pasted = pasteText(text)
      assert.ok([...pasted].every(sign => sign === '\n' || sign === '\t' || !isControl(sign)))
      assert.doesNotMatch(pasted, /^\s*[/!#&@?]/)
    }),
  )
})

function isControl(sign: string): boolean {
  const code = sign.codePointAt(0) ?? 0
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}
