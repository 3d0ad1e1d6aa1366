import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { ReadStream } from 'node:tty'
import { openKeyboard, openScreen } from '../../../src/cli/live/terminal.ts'
import { terminalPerson } from '../../../src/cli/live/terminal-person.ts'
import type { QuestionItem } from '../../../src/domain/session.ts'
import { plain } from '../render/sample.ts'

test('A accepts the suggestion of the brain for each part, and only where there is one', async () => {
  const questions = [item('Colour?', 2), item('Extras?', 3, true), item('Name?', 0)]
  const answer = ['option 2', ['option 1', 'option 3'], 'Bob']
  const { reply, shown } = await answerWithKeys('aaa', questions, answer)
  assert.deepEqual(reply, {
    answers: { 'Colour?': 'option 2', 'Extras?': ['option 1', 'option 3'], 'Name?': 'Bob' },
  })
  assert.match(shown, /\(1 of 3\) \[A\]ccept brain {2}\[1-2\] Select {2}\[T\]ype custom {2}> /)
  assert.match(shown, /\(2 of 3\) \[A\]ccept brain {2}\[1-3\] Toggle {2}\[Enter\] Done {2}\[T\]ype custom {2}> /)
  assert.match(shown, /\(3 of 3\) \[A\]ccept brain {2}\[T\]ype custom {2}> /)

  const unsure = await answerWithKeys('a1', [item('Colour?', 2)], [''])
  assert.deepEqual(unsure.reply, { answers: { 'Colour?': 'option 1' } })
  assert.doesNotMatch(unsure.shown, /ccept brain/)
})

test('the person can answer differently from a suggestion, also where options have no keys', async () => {
  assert.deepEqual((await answerWithKeys('tAl\r', [item('Name?', 0)], ['Bob'])).reply, { answers: { 'Name?': 'Al' } })
  const many = await answerWithKeys('3t12\r', [item('Which?', 12)], ['option 3'])
  assert.deepEqual(many.reply, { answers: { 'Which?': 'option 12' } })
  assert.match(many.shown, /\[A\]ccept brain {2}\[T\]ype \[1-12\] or custom {2}> /)
  const words = await answerWithKeys('2town\r', [item('Extras?', 3, true)], [['option 1']])
  assert.deepEqual(words.reply, { answers: { 'Extras?': ['option 2', 'own'] } })
})

async function answerWithKeys(keys: string, questions: QuestionItem[], answer: (string | string[])[]) {
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => {} }) as unknown as ReadStream & PassThrough
  using keyboard = openKeyboard(stdin, { onInterrupt: () => {}, onEnd: () => {} })
  let shown = ''
  const write = (text: string) => {
    shown += text
  }
  const person = terminalPerson(keyboard, openScreen({ write, isTTY: true, columns: 120 }), plain(120))
  const suggestion = { answer, confidence: 0.5, by: 'rules' }
  const reply = person.answer(
    { kind: 'question', ask_id: 'q-1', questions, suggestion },
    { signal: AbortSignal.timeout(60_000), whole: true, echo: () => {} },
  )
  stdin.write(keys)
  return { reply: await reply, shown }
}

function item(question: string, count: number, multiSelect = false): QuestionItem {
  const options = Array.from({ length: count }, (_, index) => ({ label: `option ${index + 1}`, description: '' }))
  return { question, header: '', multiSelect, options }
}
