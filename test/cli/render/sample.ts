import { type Terminal, terminalOf } from '../../../src/cli/render/text.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import type { EventBody, EventKind, EventOf } from '../../../src/domain/event.ts'
import type { TaskView } from '../../../src/domain/task.ts'

/** Twelve o'clock in the local time zone. */
export const NOON = new Date(2026, 0, 13, 12, 0, 0).getTime()

/** A terminal without colours and links. */
export function plain(width = 80): Terminal {
  return { ...terminalOf({ isTTY: true, columns: width }, { TERM: 'dumb' }), width }
}

let lastId = 0

/** A stored event of a kind, some seconds after noon. */
export function event<Kind extends EventKind>(kind: Kind, body: EventBody<Kind>, seconds = 1): EventOf<Kind> {
  const stored = {
    id: ++lastId,
    time: NOON + seconds * 1000,
    actor: 'agent',
    schema_version: 1,
    subject: 's-1',
    kind,
    body,
  }
  return stored as unknown as EventOf<Kind>
}

/** A decision on a tool call. */
export function decided(change: Partial<EventBody<'permission.decided'>>) {
  const body = {
    call_id: 'c1',
    tool: 'Write',
    target: 'src/x.ts',
    verdict: 'allow' as const,
    risk: 'LOW' as const,
    reason: 'writes inside the project',
    confidence: 1,
    by: 'policy',
    latency_ms: 1,
  }
  return event('permission.decided', { ...body, ...change }, 8)
}

/** A session as the daemon shows it. */
export function session(change: Partial<SessionView> = {}): SessionView {
  return {
    id: 's-abc123',
    name: 'auth-feature',
    project: '/code/api',
    queued: false,
    task: 'Build user authentication',
    agent: 'claude',
    model: null,
    status: 'processing',
    reason: null,
    vendor_id: null,
    created_at: NOON,
    ended_at: null,
    activity: null,
    resumes_at: null,
    plan: [],
    tokens: { context: 45_231, window: 200_000, input: 1000, output: 200 },
    cost_usd: 0.42,
    turns: 3,
    tools: { auto: 45, human: 2, denied: 0 },
    questions: { auto: 2, human: 1 },
    asks: [],
    ...change,
  }
}

/** A task of a queue as the daemon shows it. */
export function queued(change: Partial<TaskView> = {}): TaskView {
  return {
    id: 't-00000f',
    session_id: 's-abc123',
    title: 'Add rate limiting',
    description: 'Add rate limiting',
    state: 'ready',
    reason: null,
    priority: 0,
    after: [],
    attempt: 0,
    created_at: NOON,
    started_at: null,
    ended_at: null,
    wakes_at: null,
    result: null,
    project: '/home/me/api',
    parent_id: null,
    feature: null,
    type: 'task',
    labels: [],
    acceptance: [],
    alias: null,
    paths: [],
    verification: null,
    retries: 0,
    max_retries: 3,
    open_blockers: 0,
    children: 0,
    children_open: 0,
    children_failed: 0,
    children_done: 0,
    run_id: null,
    model: null,
    budget: null,
    ...change,
  }
}
