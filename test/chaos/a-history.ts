import type { History } from '../../scripts/chaos/history.ts'
import { taskText, tokenOf } from '../../scripts/chaos/plan/scenario.ts'
import type { SessionPlan } from '../../scripts/chaos/plan/session-plan.ts'
import { withoutSecrets } from '../../src/simulator/request-log.ts'

const SESSION: SessionPlan = {
  name: 's1',
  account: 'limited',
  record: false,
  tasks: [
    {
      token: 's1-t1',
      steps: [
        { do: 'work', token: 's1-t1-c1', ms: 100, leaves: true },
        { do: 'ask', token: 's1-t1-c2' },
        { do: 'write', token: 's1-t1-c3' },
        { do: 'limit', token: 's1-t1-limit' },
      ],
    },
  ],
}

/** What the vendor's log contains instead of the credential. */
const ACCOUNT = withoutSecrets({ authorization: `Bearer ${tokenOf(SESSION)}` })['authorization'] ?? ''

/** A round without violations, in which one session worked, asked, met a limit and survived a kill. */
export function aHistory(more: Partial<History> = {}): History {
  return {
    sessions: [SESSION],
    events: [
      event(1, 1_000, 'task.started', moved(1)),
      event(11, 1_150, 'permission.decided', decided('c1', 's1-t1-c1')),
      event(12, 1_350, 'tool.finished', finished('c1')),
      event(2, 3_000, 'question.parked', parked(1)),
      event(3, 4_000, 'question.answered', { call_id: 'c', answers: { 'Which hue?': 'plum-s1-t1-c2' }, by: 'human' }),
      event(4, 5_000, 'limit.hit', { message: 'limit', window: 'five_hour', resets_at: 9_000 }),
      event(5, 12_000, 'task.finished', moved(2)),
      event(6, 12_001, 'session.ended', { status: 'completed', reason: '' }),
    ],
    rows: {
      sessions: [
        {
          id: 's-1',
          project: '/x/s1',
          state: 'ended',
          ended_as: 'completed',
          account: 'a',
          status_reason: null,
          resumes_at: null,
        },
      ],
      tasks: [{ id: 't-1', session_id: 's-1', title: taskText('s1-t1'), state: 'done', attempt: 2 }],
      escalations: [{ number: 1, kind: 'question', session_id: 's-1', state: 'answered' }],
      outbox: [
        { id: 1, dedup_key: 'decision:1 settled 1', kind: 'question', state: 'done' },
        { id: 2, dedup_key: 'ended:6', kind: 'complete', state: 'done' },
      ],
    },
    integrity: ['ok'],
    calls: [
      call(1_100, 'nothing', 0),
      call(2_000, 'did s1-t1-c1', 1),
      call(4_100, 'did s1-t1-c1 plum-s1-t1-c2', 2),
      call(9_500, 'did s1-t1-c1 plum-s1-t1-c2', 4),
    ],
    ledgers: { s1: ['begin s1-t1-c1 1200', 'end s1-t1-c1 1300'] },
    files: { s1: ['s1-t1-c3.ts'] },
    notices: [
      { at: 3_500, title: 'Question (decision 1) · s1 in s1', text: 'Which hue?' },
      { at: 12_100, title: 's1 in s1 completed', text: '' },
    ],
    waits: [{ number: 1, isLate: true }],
    faults: [{ kind: 'kill-daemon', at: 2_500, session: 's1', hit: true }],
    deaths: [2_500],
    orphans: [],
    passed: ['settle.after-commit'],
    died: [],
    outlived: [{ ms: 800, toleranceMs: 0 }],
    doubles: [],
    errors: [],
    overwritten: [],
    complaints: [],
    ...more,
  }
}

/** An event of that session, as the store has it. */
export function event(id: number, time: number, kind: string, body: object): History['events'][number] {
  return { id, time, subject: 's-1', kind, body } as History['events'][number]
}

export function moved(attempt: number) {
  return { task_id: 't-1', title: taskText('s1-t1'), from: 'running', attempt }
}

/** A command that was allowed. */
export function decided(call_id: string, token: string) {
  return { call_id, tool: 'Bash', target: `sh work.sh ${token} 0.10`, verdict: 'allow', risk: 'MEDIUM', reason: '' }
}

export function finished(call_id: string) {
  return { call_id, tool: 'Bash', target: '', ok: true, output: 'did it' }
}

function parked(number: number) {
  const questions = [{ question: 'Which hue for s1-t1-c2?', header: 'Hue', multiSelect: false, options: [] }]
  return { ask_id: 'q', call_id: 'c', questions, reason: '', number }
}

/** A request to the model, what it told, and which turn of the script answered. */
export function call(at: number, told: string, turn = 0): History['calls'][number] {
  return {
    at,
    conversation: 'v',
    account: ACCOUNT,
    turn: `s1-t1.turns[${turn}]`,
    response: 'answer',
    told,
    heard: told,
  }
}
