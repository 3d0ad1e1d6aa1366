import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPlainPrompt } from '../../../src/policy/trust/files.ts'
import { findingsInPrompt } from '../../../src/policy/trust/prompt-findings.ts'

test('heads and shell lines are read at least as widely as Claude Code reads them', () => {
  const kinds = (text: string) => findingsInPrompt(text).map(({ kind }) => kind)
  const hooks = 'hooks: {}'
  for (const text of [
    `---\n${hooks}\n---\n`,
    `--- \n${hooks}\n---\n`,
    `---\t\n\n${hooks}\n  ---\n`,
    `---\r\n${hooks}\r\n---\r\n`,
    `\uFEFF---\n${hooks}\n--- x`,
    `\n---\n${hooks}\n---\n`,
    `---\n${hooks} ---\n`,
  ]) {
    assert.deepEqual(kinds(text), ['hooks'], JSON.stringify(text))
  }
  for (const text of ['x !`id`', '  ```! \n  id\n  ```', 'x ```!\nid\n```', '> ```!id```']) {
    assert.deepEqual(kinds(text), ['commands in its text'], JSON.stringify(text))
  }
  assert.deepEqual(kinds('---\nname: a\nargument-hint: x\nModel: opus\nwhen_to_use: now\n---\nText'), [])
  assert.deepEqual(kinds('---\nname: a\nnever-heard-of: 1\n---\n'), ['never-heard-of'])
  assert.deepEqual(kinds('---\n- a\n- b\n---\n'), ['a form that cannot be read'])
  assert.deepEqual(kinds('---\nhooks: {}\nhooks: {}\n---\n'), ['a form that cannot be read'])
})

test('a prompt that is not parsed because its head is plain has nothing in it', () => {
  const piece = fc.constantFrom(
    '---\n',
    'name: a',
    'description: Says what. It does',
    'hooks: {}',
    ' ',
    '-',
    '\n',
    '.',
    '!`id`',
    '\n---\n',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }), fc.boolean(), (pieces, isLed) => {
      const text = `${isLed ? '---\nname: a-b\ndescription: How it is set up, and tested.\n---\n' : ''}${pieces.join('')}`
      if (isPlainPrompt(text)) assert.deepEqual(findingsInPrompt(text), [], JSON.stringify(text))
    }),
    { numRuns: 2000 },
  )
  assert.ok(isPlainPrompt('---\nname: a-b\ndescription: How it is set up, and tested.\n---\n\ntext'))
  for (const text of [
    '---\nname: a\ndescription: x\nhooks: {}\n---\n',
    '---\nname: a\ndescription: a: b\n---\n',
    'text',
  ])
    assert.ok(!isPlainPrompt(text), JSON.stringify(text))
})
