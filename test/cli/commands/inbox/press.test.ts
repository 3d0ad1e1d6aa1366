import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type InboxKey, type InboxKeyResult, pressInboxKey } from '../../../../src/cli/commands/inbox/keys.ts'
import {
  EMPTY_INBOX,
  type Inbox,
  keepRefused,
  removeAnswered,
  updateRows,
} from '../../../../src/cli/commands/inbox/state.ts'
import { shownRows } from '../../../../src/cli/render/escalation-lines.ts'
import type { EscalationView } from '../../../../src/domain/escalation.ts'
import { question, row } from './waiting.ts'

const SEEN = { isAtEnd: true, page: 10, furthest: 0 }
const NOT_SEEN = { isAtEnd: false, page: 4, furthest: 6 }
const NAMED = new Set(['up', 'down', 'pageUp', 'pageDown', 'return', 'escape', 'backspace'])

test('nothing is approved whose end was not on the screen, but it can be denied', () => {
  const inbox = showing([row({})])
  const early = pressInboxKey(inbox, key('a'), NOT_SEEN)
  assert.equal(early.send, undefined)
  assert.match(early.inbox.notice, /Read it to its end first/)
  assert.deepEqual(pressInboxKey(inbox, key('a'), SEEN).send?.reply, { verdict: 'allow' })
  assert.deepEqual(pressInboxKey(inbox, key('d'), NOT_SEEN).send?.reply, { verdict: 'deny' })
})

test('the work of a task is not approved by a key, because its diff is not shown', () => {
  const inbox = showing([row({ kind: 'review', tool: 'review', input: { task: 't-000001' } })])
  const pressed = pressInboxKey(inbox, key('a'), SEEN)
  assert.equal(pressed.send, undefined)
  assert.match(pressed.inbox.notice, /approve it there: pcc review t-000001/)
  assert.deepEqual(pressInboxKey(inbox, key('d'), SEEN).send?.reply, { verdict: 'deny' })
})

test('what is not kept whole cannot be approved, but it can be denied', () => {
  for (const input of [{ left_out: ['content'] }, { content: `x… (90000 characters)` }]) {
    const inbox = showing([row({ tool: 'Write', input })])
    const pressed = pressInboxKey(inbox, key('a'), SEEN)
    assert.equal(pressed.send, undefined)
    assert.match(pressed.inbox.notice, /too long to be shown whole/)
    assert.deepEqual(pressInboxKey(inbox, key('d'), SEEN).send?.reply, { verdict: 'deny' })
  }
})

test('after an answer the next row is current, and a second press of the same key does not answer it', () => {
  const rows = [1, 2, 3].map(number => row({ number }))
  const sent = pressInboxKey(showing(rows), key('a'), SEEN)
  assert.equal(sent.send?.row.number, 1)
  assert.equal(pressInboxKey(sent.inbox, key('a'), SEEN).send, undefined, 'while it is on its way')
  const next = removeAnswered(sent.inbox, 1, { notice: 'done', at: 5 })
  assert.equal(next.current, 2)
  assert.equal(pressInboxKey(next, key('a'), SEEN).send, undefined, 'right after it')
  assert.equal(pressInboxKey({ ...next, armed: true }, key('a'), SEEN).send?.row.number, 2)
  const late = updateRows(next, { rows, as_of: 4 })
  assert.deepEqual(numbers(late), [2, 3], 'a list asked for before the answer does not bring it back')
  assert.deepEqual(numbers(updateRows(next, { rows, as_of: 6 })), [1, 2, 3], 'one that was asked again is there')
})

test('what is settled elsewhere while it is current stays until the person goes on; what was being typed goes nowhere', () => {
  const typing = keys(showing([row({ number: 1 }), row({ number: 2 })]), ['t', 'because ']).inbox
  const gone = updateRows(typing, { rows: [row({ number: 2 })], as_of: 9 })
  for (const one of ['a', 'd', 's', 't']) assert.deepEqual(pressInboxKey(gone, key(one), SEEN), { inbox: gone })
  const next = pressInboxKey(gone, key('return'), SEEN)
  assert.equal(next.send, undefined)
  assert.equal(next.inbox.current, 2)
})

test('a row that comes first does not take the place of the current one', () => {
  const inbox = showing([row({ number: 2 })])
  const more = updateRows(inbox, { rows: [row({ number: 5, priority: 9 }), row({ number: 2 })], as_of: 9 })
  assert.equal(pressInboxKey(more, key('a'), SEEN).send?.row.number, 2)
  assert.equal(pressInboxKey(keys(more, ['up']).inbox, key('a'), SEEN).send?.row.number, 5)
})

test('a question is answered by number, by words, by the brain, or declined', () => {
  const asked = questionRow([question('Which colour?', ['red', 'blue'])], ['blue'])
  const reply = (...typed: string[]) => keys(showing([asked]), typed).send?.reply
  assert.deepEqual(reply('1'), { answers: { 'Which colour?': 'red' } })
  assert.deepEqual(reply('a'), { answers: { 'Which colour?': 'blue' } })
  assert.deepEqual(reply('A'), { answers: { 'Which colour?': 'blue' } })
  assert.deepEqual(reply('t', 'gree', 'm', 'backspace', 'n', 'return'), { answers: { 'Which colour?': 'green' } })
  assert.deepEqual(reply('d'), { verdict: 'deny' })
  assert.equal(reply('3'), undefined, 'no such option')
  assert.equal(reply('t', '  ', 'return'), undefined, 'nothing was said')
  assert.equal(reply('t', 'x', 'escape'), undefined)
  const unsure = { ...asked, context: {} }
  assert.equal(keys(showing([unsure]), ['a']).send, undefined, 'no brain, nothing to accept')
})

test('several parts are asked one after the other, and several options are chosen with Enter at the end', () => {
  const parts = [question('Extras?', ['wheels', 'doors'], { multiSelect: true }), question('Name?', [])]
  const inbox = showing([questionRow(parts, [['doors'], 'Bob'])])
  assert.deepEqual(keys(inbox, ['2', '1', 'return', 't', 'Al', 'return']).send?.reply, {
    answers: { 'Extras?': ['wheels', 'doors'], 'Name?': 'Al' },
  })
  assert.deepEqual(keys(inbox, ['1', '1', '2', 'return', 'a']).send?.reply, {
    answers: { 'Extras?': ['doors'], 'Name?': 'Bob' },
  })
  const half = keys(inbox, ['a'])
  assert.equal(half.send, undefined)
  assert.deepEqual(keepRefused(half.inbox, 'no').answers, {}, 'after a refusal all parts are asked again')
})

test('more than nine options are typed by number', () => {
  const many = question(
    'Which?',
    Array.from({ length: 12 }, (_, index) => `option ${index + 1}`),
  )
  const inbox = showing([questionRow([many], [])])
  assert.equal(keys(inbox, ['2']).send, undefined)
  assert.deepEqual(keys(inbox, ['t', '12', 'return']).send?.reply, { answers: { 'Which?': 'option 12' } })
})

test('a yes to what was refused asks whether its task is done again; what is no decision says what to type', () => {
  const asked = keys(showing([row({ number: 1, again: true })]), ['a'])
  assert.deepEqual([asked.send, asked.inbox.asksAgain], [undefined, true])
  assert.deepEqual(keys(asked.inbox, ['y']).send?.reply, { verdict: 'allow', again: true })
  assert.deepEqual(keys(asked.inbox, ['n']).send?.reply, { verdict: 'allow' })
  assert.deepEqual([keys(asked.inbox, ['x']).send, keys(asked.inbox, ['x']).inbox.asksAgain], [undefined, false])
  const about = { project: '/p', session_id: null, task_id: null, title: null, number: null, risk: null }
  const need = {
    key: 'm',
    kind: 'merge',
    text: 'It waits',
    next: 'pcc merge list',
    since: 0,
    count: 1,
    priority: 0,
  } as const
  const { waiting } = shownRows({ needs: [{ ...need, ...about }], refused: [], escalations: [] })
  for (const key of ['a', 'd', 't', '1']) {
    const { send, inbox } = keys(showing(waiting), [key])
    assert.deepEqual([send, inbox.notice], [undefined, 'No key answers this. Type: pcc merge list'])
  }
})

test('what is skipped comes last, also when the list is read again', () => {
  const rows = [1, 2, 3].map(number => row({ number }))
  const { inbox } = keys(showing(rows), ['s'])
  assert.equal(inbox.current, 2)
  assert.deepEqual(numbers(updateRows(inbox, { rows, as_of: 9 })), [2, 3, 1])
})

test('Enter gives a row the whole screen, where arrows scroll; Escape goes back', () => {
  const whole = pressInboxKey(showing([row({ number: 1 }), row({ number: 2 })]), key('return'), NOT_SEEN).inbox
  assert.equal(whole.fullScreen, true)
  const down = pressInboxKey(whole, key('down'), NOT_SEEN).inbox
  assert.deepEqual([down.current, down.scroll], [1, 1])
  assert.equal(pressInboxKey(down, key('pageDown'), NOT_SEEN).inbox.scroll, 5)
  assert.equal(pressInboxKey({ ...down, scroll: 5 }, key('pageDown'), NOT_SEEN).inbox.scroll, 6, 'not beyond its end')
  assert.equal(pressInboxKey(down, key('pageUp'), NOT_SEEN).inbox.scroll, 0)
  const back = pressInboxKey(down, key('escape'), NOT_SEEN).inbox
  assert.deepEqual([back.fullScreen, back.scroll], [false, 0])
  assert.equal(pressInboxKey(back, key('down'), NOT_SEEN).inbox.current, 2)
})

function showing(rows: EscalationView[]): Inbox {
  return { ...updateRows(EMPTY_INBOX, { rows, as_of: 1 }), armed: true }
}

function questionRow(questions: object[], answer: (string | string[])[]): EscalationView {
  const suggestion = { answer, confidence: 0.7, by: 'rules' }
  return row({ kind: 'question', input: { questions }, context: { suggestion } })
}

function key(name: string): InboxKey {
  return NAMED.has(name) ? { name: name as InboxKey['name'], text: '' } : { name: 'text', text: name }
}

function keys(inbox: Inbox, typed: string[]): InboxKeyResult {
  return typed.reduce((at: InboxKeyResult, name) => pressInboxKey(at.inbox, key(name), SEEN), { inbox })
}

function numbers({ rows }: Inbox): number[] {
  return rows.map(({ number }) => number)
}
