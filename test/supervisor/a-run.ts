import { silentLog } from '../../src/base/log.ts'
import type { Driver } from '../../src/domain/session.ts'
import type { SessionRow } from '../../src/store/tables.ts'
import type { Run } from '../../src/supervisor/run.ts'

/** A run as it stands in the middle of a turn. */
export function aRun(row: Partial<SessionRow> = {}, more: Partial<Run> = {}): Run {
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
    log: silentLog,
    calls: new Map(),
    callWaiters: new Map(),
    parking: new Map(),
    answer: undefined,
    limit: undefined,
    session: undefined,
    opened: Promise.withResolvers(),
    stopping: undefined,
    over: false,
    ...more,
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
}
