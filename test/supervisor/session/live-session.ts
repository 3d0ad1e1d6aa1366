import { silentLog } from '../../../src/base/log.ts'
import { rulesBrain } from '../../../src/brain/rules/question.ts'
import { PurposeSplit } from '../../../src/domain/budget.ts'
import type { Driver } from '../../../src/domain/session.ts'
import { STANDARD_MEMORY } from '../../../src/human/precedents.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { openSessionGuards } from '../../../src/supervisor/guards/session-guards.ts'
import type {
  LiveAgent,
  LiveControl,
  LiveMeters,
  LiveSession,
  LiveSettings,
} from '../../../src/supervisor/session/context.ts'
import { SpendingMeter } from '../../../src/tasks/budgets.ts'

/** Members of a live session, wherever in it they are. */
export type LiveMembers = Partial<Pick<LiveSession, 'id' | 'log'> & LiveSettings & LiveControl & LiveMeters & LiveAgent>

/** A live session in the middle of a turn. */
export function aLiveSession(row: Partial<SessionRow> = {}, more: LiveMembers = {}): LiveSession {
  const live = liveSession(row)
  for (const [name, value] of Object.entries(more)) {
    const holder = [live.settings, live.control, live.meters, live.agent].find(group => name in group) ?? live
    Object.assign(holder, { [name]: value })
  }
  return live
}

function liveSession(row: Partial<SessionRow>): LiveSession {
  const driver: Driver = {
    agent: 'none',
    open: () => Promise.reject(new Error('no agent')),
    warm: async () => {},
    cool: async () => {},
    close: async () => {},
  }
  return {
    id: 's-000001',
    row: { ...ROW, ...row },
    log: silentLog,
    settings: {
      driver,
      open: { id: 's-000001', cwd: '/p', env: {}, settingSources: [], isolation: 'auto' },
      policy: {
        project: '/p',
        home: '/h',
        safeDirectories: ['src/'],
        blocked: [],
        rules: async () => [],
        allowedTools: [],
        autoApproveLow: true,
        threshold: 0.7,
        unattendedHigh: 'deny',
      },
      mayRunUnattended: true,
      guard: async () => undefined,
      renew: undefined,
      secrets: [],
      brainSettings: {
        brain: rulesBrain,
        threshold: 0.7,
        autoAnswer: true,
        memory: STANDARD_MEMORY,
        deadlines: {
          grace_seconds: 60,
          deadline_minutes: undefined,
          on_deadline: { question: 'keep_waiting', permission: 'keep_waiting' },
        },
      },
      requirements: undefined,
      consent: { autoResume: true },
      quota: { thresholds: { notice: 50, warning: 85, critical: 90 }, onCritical: 'finish' },
      budgets: { task: {}, session: {}, day: {}, project: {} },
      budgetsNow: async () => ({ task: {}, session: {}, day: {}, project: {} }),
      searchesCode: false,
      tasksPerProcess: 20,
      checkpointEveryMs: 600_000,
      retryMs: [5_000, 30_000, 120_000],
    },
    control: {
      opened: Promise.withResolvers(),
      admitted: Promise.withResolvers(),
      stopping: undefined,
      cutOff: false,
      pausing: undefined,
      tripped: undefined,
      over: false,
    },
    meters: {
      startedAt: 0,
      checkpointedAt: 0,
      earlierUsage: { input_tokens: 0, output_tokens: 0, cost_usd: 0, turns: 0 },
      meter: new SpendingMeter(0),
      purposes: new PurposeSplit(),
      afterLimit: false,
      guards: openSessionGuards(
        { repeatedCalls: 8, noProgressRounds: 120, stallMs: 300_000, maxMemoryBytes: 2 ** 31, maxProcesses: 1000 },
        0,
      ),
      warnedLevels: new Map(),
      toolCalls: new Map(),
      proseAnswers: 0,
    },
    agent: {
      session: undefined,
      isKept: false,
      hasSurvivors: false,
      isHandlingEvent: false,
      calls: new Map(),
      callWaiters: new Map(),
      parking: new Map(),
      answer: undefined,
      answeredQuestion: undefined,
      attempt: undefined,
      answered: false,
      isRetrying: false,
      compaction: undefined,
    },
  }
}

const ROW: SessionRow = {
  id: 's-000001',
  name: 'one',
  project: '/p',
  task: 't',
  agent: 'none',
  model: null,
  vendor_id: null,
  options: { project: '/p', task: 't' },
  owner: 'boot-1',
  state: 'running',
  status_reason: null,
  ended_as: null,
  created_at: 0,
  started_at: 0,
  ended_at: null,
  resumes_at: null,
  activity: null,
  plan: [],
  input_tokens: 0,
  output_tokens: 0,
  context_tokens: 0,
  context_window: 0,
  cost_usd: 0,
  turns: 0,
  tools_auto: 0,
  tools_human: 0,
  tools_denied: 0,
  questions_auto: 0,
  questions_human: 0,
  parked: null,
  account: null,
  marker: 'mark',
  agent_pid: null,
  agent_started: null,
  task_id: null,
  retries: 0,
  recoveries: 0,
  intent: null,
  priority: 0,
  held_at: null,
}
