import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import type { EventBody, EventKind, NewEvent } from '../../../src/domain/event.ts'

/** 2026-01-13T12:00:01.123Z */
export const NOON = Date.UTC(2026, 0, 13, 12, 0, 1, 123)

/** A whole checkpoint, with changes. */
export function sampleCheckpoint(change: Partial<Checkpoint> = {}): Checkpoint {
  return {
    version: 1,
    session_id: 's-abc123',
    timestamp: NOON,
    reason: 'limit',
    project_path: '/code/api',
    vendor_id: '6f0e8c1e-0000-4000-8000-000000000001',
    original_task: 'Build user authentication',
    current_task: 'Build user authentication',
    completed_subtasks: ['Create the schema', 'Hash passwords'],
    pending_subtasks: ['Add the login route', 'Write tests'],
    queue: [],
    modified_files: [{ path: 'src/auth.ts', hash: 'a'.repeat(64), bytes: 10 }],
    key_decisions: [
      { question: 'Which database?', answer: 'Postgres', rationale: 'it is there already', by: 'human' },
      { question: 'Sessions or JWT?', answer: 'JWT', rationale: 'no state on the server', by: 'brain' },
    ],
    conversation_summary: 'The schema stands.\nPasswords are hashed with argon2.',
    next_action: 'Add the login route',
    tokens: { context: 45_231, window: 200_000, input: 1_000, output: 200 },
    cost_usd: 0.42,
    last_event: 17,
    dropped: { decisions: 0, files: 0 },
    left_out: [],
    ...change,
  }
}

/** An event of the sample session. */
export function event<Kind extends EventKind>(kind: Kind, body: EventBody<Kind>, subject = 's-abc123'): NewEvent {
  return { actor: 'agent', subject, kind, body } as unknown as NewEvent
}

/** A call of a tool that came back. */
export function call(
  id: string,
  tool: string,
  input: Record<string, unknown>,
  { ok = true, target = '' } = {},
): NewEvent[] {
  return [
    event('tool.requested', { call_id: id, tool, target, input }),
    event('tool.finished', { call_id: id, tool, target, ok, output: '' }),
  ]
}
