import type { Plant } from './plant.ts'
import { asking, diesAt, limited, loggedOut, quiet, takenOver, with_ } from './rounds.ts'

/** Mistakes in how a session ends, resumes, asks and waits. */
export const OF_SESSIONS: readonly Plant[] = [
  {
    id: 'ending-told-twice',
    hurts: 'a task is finished twice in the log, and twice in every count',
    breaks: ['ends-once'],
    patches: [
      {
        file: 'src/tasks/transition.ts',
        symbol: 'writeMove',
        find: 'await appendMoveEvent(task, moved, deps, move.actor)',
        put: 'await appendMoveEvent(task, moved, deps, move.actor)\n  await appendMoveEvent(task, moved, deps, move.actor)',
      },
    ],
    round: quiet,
  },
  {
    id: 'killed-daemon-recovers-nobody',
    hurts: 'after a crash every session shows as running for ever',
    breaks: ['ends-once'],
    patches: [
      {
        file: 'src/supervisor/session/recover.ts',
        symbol: 'recover',
        find: '![null, supervisor.bootId].includes(owner)',
        put: '[supervisor.bootId].includes(owner ?? supervisor.bootId)',
      },
    ],
    round: diesAt('tool.after-verdict', 2),
  },
  {
    id: 'stopped-daemon-forgets-to-go-on',
    hurts: 'what was at work when the daemon was stopped stays paused when it is back',
    breaks: ['ends-once'],
    patches: [
      {
        file: 'src/supervisor/session/settle.ts',
        symbol: 'cutOffEnding',
        find: "as: 'paused', reason: CUT_OFF, resumesAt: now, task: waits",
        put: "as: 'paused', reason: CUT_OFF, task: waits",
      },
    ],
    round: with_('stop-clean'),
  },
  {
    id: 'resumed-twice',
    hurts: 'two agents go on in one conversation, and each does the work',
    breaks: ['tool-once', 'one-writer'],
    patches: [
      {
        file: 'src/supervisor/session/run-task.ts',
        symbol: 'runTask',
        find: 'await using session = await live.settings.driver.open({',
        put: 'if (live.settings.open.resume) void live.settings.driver.open({ ...live.settings.open, asks: asksFor(live, deps) })\n    await using session = await live.settings.driver.open({',
      },
    ],
    round: diesAt('tool.after-verdict', 4),
  },
  {
    id: 'resume-begins-anew',
    hurts: 'a session that goes on has forgotten its conversation and does everything again',
    breaks: ['tool-once'],
    patches: [
      {
        file: 'src/supervisor/session/checkpoints.ts',
        symbol: 'restore',
        find: 'const isIntact = from === undefined && (await hasConversation({ row, driver, env, manifest }))',
        put: 'const isIntact = from !== undefined && (await hasConversation({ row, driver, env, manifest }))',
      },
    ],
    round: diesAt('tool.after-verdict', 5),
  },
  {
    id: 'held-back-counts-as-done',
    hurts: 'a task that was stopped half-way by a limit is called done; the rest of its work never happens',
    breaks: ['no-work-lost'],
    patches: [
      {
        file: 'src/supervisor/session/decide.ts',
        symbol: 'thinkOfEnd',
        find: "case 'paused':",
        put: "case 'paused':\n      return { type: 'task_complete', text: turn.text || 'done' }",
      },
    ],
    round: limited,
  },
  {
    id: 'unheard-task-told-to-go-on',
    hurts: 'a task that its agent never heard of is called done',
    breaks: ['no-work-lost'],
    patches: [
      {
        file: 'src/supervisor/session/checkpoints.ts',
        symbol: 'restore',
        find: "(task.state === 'ready' || (await lacksTask(task.id, row.id, deps.store)))",
        put: "task.state === 'ready'",
      },
    ],
    round: diesAt('next-task.after-commit'),
  },
  {
    id: 'wrong-answer-given',
    hurts: 'the agent hears nothing, or the answer to another question',
    breaks: ['no-question-lost', 'no-work-lost'],
    patches: [
      {
        file: 'src/supervisor/session/tool-call.ts',
        symbol: 'answersByQuestion',
        find: "answer[index] ?? ''",
        put: "answer[index + 1] ?? ''",
      },
    ],
    round: asking(),
  },
  {
    id: 'settled-answer-not-brought',
    hurts: 'the daemon dies after a person answered; the session waits for ever for an answer that is there',
    breaks: ['no-question-lost', 'ends-once'],
    patches: [
      {
        file: 'src/daemon/deliver-answers.ts',
        symbol: 'deliverAnswers',
        find: '!isSettled(settled)',
        put: 'isSettled(settled)',
      },
    ],
    round: asking('answer.after-settle'),
  },
  {
    id: 'question-without-a-row',
    hurts: 'a question is parked, and nobody can see or answer it',
    breaks: ['no-question-lost'],
    patches: [
      {
        file: 'src/supervisor/session/record.ts',
        symbol: 'record',
        find: 'const recorded = escalation && (await',
        put: "const recorded = escalation?.kind === 'question' ? undefined : escalation && (await",
      },
    ],
    round: asking(),
  },
  {
    id: 'gate-not-looked-at',
    hurts: 'sessions start on an account that is limited, again and again',
    breaks: ['no-call-while-gated'],
    patches: [
      {
        file: 'src/supervisor/limits/accounts.ts',
        symbol: 'Accounts.admits',
        find: 'row.account === null ?',
        put: 'row.account !== undefined ?',
      },
      // The vendor's reported allowance would otherwise keep most of them from starting.
      {
        file: 'src/supervisor/limits/accounts.ts',
        symbol: 'Accounts.allowed',
        find: 'const windows = (row.account !== null && this.#windows.get(row.account)) || []',
        put: 'const windows = []',
      },
    ],
    round: limited,
  },
  {
    id: 'others-not-held-back',
    hurts: 'one session meets the limit and the others of the account go on calling',
    breaks: ['no-call-while-gated'],
    patches: [
      {
        file: 'src/supervisor/limits/accounts.ts',
        symbol: 'Accounts.#holdBackOthers',
        find: 'other !== live &&',
        put: 'other === live &&',
      },
    ],
    round: limited,
  },
  {
    id: 'ended-session-keeps-its-task',
    hurts: 'a session that ends leaves its task behind as running',
    breaks: ['ends-once'],
    patches: [
      {
        file: 'src/supervisor/session/settle.ts',
        symbol: 'settle',
        find: 'task: final.task,',
        put: "task: final.as === 'completed' ? undefined : final.task,",
      },
    ],
    round: diesAt('settle.before-commit'),
  },
  {
    id: 'handed-over-without-a-word',
    hurts: 'the agent that takes a task over is not told what it is, and calls it done',
    breaks: ['no-work-lost'],
    patches: [
      {
        file: 'src/supervisor/session/checkpoints.ts',
        symbol: 'restore',
        find: 'if (isUnheard ||',
        put: 'if (row.options.handed) return { prompt: GO_ON, ...how }; if (isUnheard ||',
      },
    ],
    round: takenOver,
  },
  {
    id: 'retry-leaves-the-task-failed',
    hurts: 'a person logs in again and lets a session go on, and its task stays failed',
    breaks: ['ends-once'],
    patches: [
      {
        file: 'src/supervisor/session/resume.ts',
        symbol: 'retryFailedTask',
        find: "if (task?.state === 'failed')",
        put: "if (task?.state === 'blocked')",
      },
    ],
    round: loggedOut,
  },
]
