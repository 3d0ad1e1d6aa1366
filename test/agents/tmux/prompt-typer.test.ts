import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PromptTyper } from '../../../src/agents/tmux/agent-window.ts'

/** A terminal that notes what is typed; `onPaste` is what happens meanwhile. */
function terminal(onPaste: () => void = () => undefined) {
  const at: { status: string | undefined; theirs: boolean; typed: string[] } = {
    status: 'idle',
    theirs: false,
    typed: [],
  }
  const window = {
    state: () => (at.status === undefined ? undefined : { sessionId: 's', status: at.status }),
    paste: async (text: string) => {
      at.typed.push(text)
      onPaste()
    },
    enter: async () => void at.typed.push('<Enter>'),
  }
  const mouth = new PromptTyper(() => at.theirs)
  return { at, mouth, speak: () => mouth.typeNext(window, () => undefined) }
}

test('nothing is typed into a dialog, nor while a person has the keyboard, nor while nothing is known: it waits and is said later', async () => {
  const { at, mouth, speak } = terminal()
  mouth.add('Go on.')
  for (const held of [{ status: 'waiting' }, { status: undefined }, { status: 'busy', theirs: true }]) {
    Object.assign(at, held)
    await speak()
    assert.deepEqual(at.typed, [], JSON.stringify(held))
  }
  Object.assign(at, { status: 'busy', theirs: false })
  await speak()
  assert.deepEqual(at.typed, ['Go on.', '<Enter>'])
  await speak()
  assert.deepEqual(at.typed, ['Go on.', '<Enter>'], 'said once')
})

test('a dialog that opens between the words and their Enter is not confirmed', async () => {
  const opened: { at?: { status: string | undefined } } = {}
  const { at, mouth, speak } = terminal(() => {
    if (opened.at) opened.at.status = 'waiting'
  })
  opened.at = at
  mouth.add('Go on.')
  await speak()
  assert.deepEqual(at.typed, ['Go on.'])
})

test('what is to be said at once is typed one after the other', async () => {
  const { at, mouth, speak } = terminal()
  mouth.add('One.')
  mouth.add('Two.')
  await Promise.all([speak(), speak()])
  await speak()
  assert.deepEqual(at.typed, ['One.', '<Enter>', 'Two.', '<Enter>'])
})
