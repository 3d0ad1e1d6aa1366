import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inboxFrame } from '../../../../src/cli/commands/inbox/frame.ts'
import { EMPTY_INBOX, type Inbox, updateRows } from '../../../../src/cli/commands/inbox/state.ts'
import { needsYouLines } from '../../../../src/cli/render/escalation-lines.ts'
import { widthOf } from '../../../../src/cli/render/text.ts'
import type { EscalationView } from '../../../../src/domain/escalation.ts'
import { plain } from '../../render/sample.ts'
import { question, row } from './waiting.ts'

test('a frame fits every terminal, whatever is asked', () => {
  const long = row({ normalised: `Bash ${'echo 你好 '.repeat(200)}`, number: 7 })
  for (const columns of [20, 40, 80, 200]) {
    for (const height of [4, 10, 24, 60]) {
      for (const fullScreen of [false, true]) {
        const { lines } = draw({ ...showing([long, ...many(30)]), fullScreen }, columns, height)
        assert.ok(lines.length <= height, `${lines.length} lines on ${height}`)
        assert.ok(
          lines.every(line => widthOf(line) <= columns),
          `wider than ${columns}: ${lines.find(line => widthOf(line) > columns)}`,
        )
      }
    }
  }
})

test('in few columns the lists show what is asked rather than who asks, and a notice is not cut', () => {
  const asked = row({ normalised: 'Bash rm -rf legacy', number: 7 })
  const notice = 'Allowed. It was for this one call: HIGH requests are asked about every time. It goes on.'
  const page = draw({ ...showing([asked]), notice }, 40, 24).lines.join('\n')
  assert.match(page, /^› +7 {2}Approve: rm -rf legacy/m)
  assert.equal(page.replaceAll('\n', ' ').includes(notice), true)
  const need = { key: 'k', kind: 'permission', text: '', next: '', since: 0, count: 1, priority: 0, number: 7 } as const
  const about = { project: '/p', session_id: null, task_id: null, title: null, risk: null }
  const reply = { needs: [{ ...need, ...about }], refused: [], escalations: [asked] }
  assert.equal(needsYouLines(reply, plain(40), 0)[1], '   7  Approve: rm -rf legacy')
})

test('the end of a row is seen only when its last line is drawn', () => {
  const long = showing([row({ normalised: `Bash ${'word '.repeat(600)}END-OF-COMMAND`, task: 'the last line' })])
  const first = draw(long, 80, 24)
  assert.equal(first.scrollState.isAtEnd, false)
  assert.doesNotMatch(first.lines.join('\n'), /the last line/)
  assert.match(first.lines.join('\n'), /─ \d+ more lines: PgDn ─/)
  const last = draw({ ...long, scroll: 1_000 }, 80, 24)
  assert.equal(last.scrollState.isAtEnd, true)
  assert.match(last.lines.join('\n'), /END-OF-COMMAND(.|\n)*the last line/)
  assert.equal(draw(showing([row({})]), 80, 24).scrollState.isAtEnd, true)
  const low = { ...showing([row({ task: 'the last line' })]), notice: 'x '.repeat(90), scroll: 1_000 }
  assert.equal(draw(low, 20, 4).scrollState.isAtEnd, false, 'where there is no room for it, nothing was seen')
  for (let height = 4; height < 24; height++) {
    const { lines, scrollState } = draw(low, 20, height)
    assert.equal(scrollState.isAtEnd, /the last line/.test(lines.join('\n')), `at ${height} lines`)
  }
})

test('a question shows its options, what the brain says and the active keys', () => {
  const suggestion = { answer: ['7 days'], confidence: 0.72, by: 'rules', reasoning: 'short is safer' }
  const asked = row({
    kind: 'question',
    state: 'open',
    input: { questions: [question('How long?', ['7 days', '30 days'])] },
    context: { suggestion, steps: ['said: hm'] },
  })
  const text = draw(showing([asked]), 100, 30).lines.join('\n')
  assert.match(text, /^Inbox: 1 thing waits for you\n›/)
  assert.match(text, /How long\?\n +\[1\] 7 days\n +\[2\] 30 days/)
  assert.match(text, /Brain: "7 days" \(confidence: 72%\)\n +short is safer/)
  assert.match(text, /\[A\]ccept brain {2}\[1-2\] Select {2}\[T\]ype custom {2}\[D\]ecline {2}\[S\]kip/)
  assert.doesNotMatch(draw({ ...showing([asked]), armed: false }, 100, 30).lines.join('\n'), /\[A\]ccept/)
})

test('the footer says what Enter does: it ends a choice once something is marked, else it shows the whole screen', () => {
  const input = { questions: [question('Which?', ['red', 'blue'], { multiSelect: true })] }
  const asked = showing([row({ kind: 'question', state: 'open', input })])
  const keys = (chosen: number[]) =>
    draw({ ...asked, chosen }, 140, 30)
      .lines.at(-1)
      ?.match(/\[Enter\] \w+/g)
  assert.deepEqual([keys([]), keys([1])], [['[Enter] Whole'], ['[Enter] Done']])
})

test('the questions of a list stand below one another, however many sessions wait for one', () => {
  const sessions = Array.from({ length: 101 }, (_, at) => `s-${at}`)
  const { lines } = draw(showing([row({}), row({ number: 2, sessions })]), 100, 30)
  const columns = lines.slice(1, 3).map(line => line.indexOf('Approve'))
  assert.equal(columns[0], columns[1], lines.slice(1, 3).join('\n'))
})

test('nothing that an agent wrote can move the cursor', () => {
  const evil = '\u001b[2J\u001b]0;x\u0007\u202e'
  const rows = [
    row({ normalised: `Bash ${evil}`, task: evil, reason: evil, project: evil, context: { steps: [evil] } }),
    row({ number: 2, kind: 'question', input: { questions: [question(evil, [evil])] } }),
  ]
  for (const current of [1, 2]) {
    const text = draw({ ...showing(rows), current, answers: { [evil]: evil } }, 80, 40).lines.join('\n')
    assert.doesNotMatch(text, /[\u001b\u0007\u202e]/)
  }
})

test('a thousand rows are a window around the current one', () => {
  const text = draw({ ...showing(many(1_000)), current: 500 }, 100, 30).lines.join('\n')
  assert.match(text, /Inbox: 1000 were refused/)
  assert.match(text, /\n› +500 /)
  assert.ok(text.split('\n').length <= 30)
})

function draw(inbox: Inbox, width: number, height: number) {
  return inboxFrame(inbox, { terminal: { ...plain(80), width }, height, now: 60_000 })
}

function showing(rows: EscalationView[]): Inbox {
  return { ...updateRows(EMPTY_INBOX, { rows, as_of: 1 }), armed: true }
}

function many(count: number): EscalationView[] {
  return Array.from({ length: count }, (_, index) => ({ ...row({ number: index + 1 }), isRefused: true }))
}
