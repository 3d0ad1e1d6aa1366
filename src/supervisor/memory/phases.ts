import type { EventKind } from '../../domain/event.ts'
import type { HookEventKind } from '../../domain/hooks.ts'

/** What memory does, in this order: it keeps what happened, derives items from it, shows them, and learns what showing them was worth. */
export const PHASES = ['record', 'organise', 'recall', 'improve'] as const
export type Phase = (typeof PHASES)[number]

/**
 * What memory does at each event of a hook. Every phase is here, so that memory works where agents are started without pcc and no daemon
 * runs: with a daemon it does the same, without one the hook itself does it in a bounded time.
 */
export const HOOK_PHASES: Record<HookEventKind, readonly Phase[]> = {
  session_start: ['record', 'organise', 'recall', 'improve'],
  prompt: ['record', 'recall'],
  tool_before: ['record'],
  permission: ['record'],
  tool_after: ['record'],
  stop: ['record', 'organise'],
  session_end: ['record', 'organise', 'improve'],
  compaction: ['record'],
  notification: ['record'],
  failure: ['record'],
  usage: ['record'],
  unknown: ['record'],
}

/** What memory does at events of the daemon. At all other kinds it does nothing. */
export const EVENT_PHASES: Partial<Record<EventKind, readonly Phase[]>> = {
  'task.started': ['record', 'recall'],
  'tool.finished': ['record'],
  'permission.decided': ['record'],
  'escalation.answered': ['record'],
  'hook.captured': ['record'],
  'task.verified': ['record'],
  'task.finished': ['record', 'organise', 'improve'],
  'task.failed': ['record', 'organise', 'improve'],
  'session.ended': ['organise', 'improve'],
}

/** The events of hooks at which something is done. */
export function hookKinds(phase: Phase): HookEventKind[] {
  return (Object.keys(HOOK_PHASES) as HookEventKind[]).filter(kind => HOOK_PHASES[kind].includes(phase))
}

/** The kinds of events from which records are made. */
export const RECORDED = (Object.keys(EVENT_PHASES) as EventKind[]).filter(kind =>
  EVENT_PHASES[kind]?.includes('record'),
)
