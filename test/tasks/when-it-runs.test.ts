import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionStatus } from '../../src/domain/api.ts'
import type { TaskWill } from '../../src/domain/task.ts'
import { whenItRuns } from '../../src/tasks/queue/when-it-runs.ts'
import { queued } from '../cli/render/sample.ts'

const QUEUE = ['t-1', 't-2', 't-3'].map(id => queued({ id }))

const ROWS: [SessionStatus, { ended: boolean; resumes?: number }, TaskWill[]][] = [
  ['processing', { ended: false }, ['next', 'next', 'in_line']],
  ['idle', { ended: false }, ['next', 'next', 'in_line']],
  ['waiting_input', { ended: false }, ['next', 'next', 'in_line']],
  ['waiting_input', { ended: true }, ['on_answer', 'on_answer', 'on_answer']],
  ['completed', { ended: true }, ['now', 'in_line', 'in_line']],
  ['rate_limited', { ended: true, resumes: 5 }, ['on_reset', 'on_reset', 'on_reset']],
  ['rate_limited', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['paused', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['stopped', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['error', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['error', { ended: false }, ['on_resume', 'on_resume', 'on_resume']],
]

for (const [status, { ended, resumes }, wills] of ROWS) {
  const what = `${status}${ended ? ', ended' : ''}${resumes ? ' with a reset' : ''}`
  test(`when a task runs that is added to a session that is ${what}`, () => {
    const session = { status, ended, resumes_at: resumes ?? null }
    assert.deepEqual(
      QUEUE.map(({ id }) => whenItRuns(id, QUEUE, session)),
      wills.map((will, ahead) => ({ will, ahead })),
    )
  })
}

test('what comes after another task says so, whatever the session does', () => {
  const queue = [...QUEUE, queued({ id: 't-4', state: 'blocked', after: ['t-1'] })]
  for (const status of ['completed', 'processing', 'stopped'] as const) {
    const session = { status, ended: status !== 'processing', resumes_at: null }
    assert.deepEqual(whenItRuns('t-4', queue, session), { will: 'after', ahead: 3 })
  }
})
