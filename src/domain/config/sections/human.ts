import { count, oneOf, optionalCount, type Setting, share } from '../setting.ts'
import { lower } from './tighten.ts'

/** What waits for a person, and how far their earlier answers go. */
export const HUMAN_SETTINGS = {
  'human.grace_seconds': count(1, {
    standard: 60,
    about:
      'Seconds without a key at an attached terminal after which what it asks waits without an agent, and you are told elsewhere',
    project: 'trusted',
    inForce: true,
  }),
  'human.deadline_minutes': optionalCount(1, {
    standard: undefined,
    about:
      'Minutes after which what waits for you is settled as `human.on_deadline` says; unset, it waits however long',
    project: 'trusted',
    inForce: true,
  }),
  'human.on_deadline.question': oneOf(['keep_waiting', 'take_suggestion', 'deny'], {
    standard: 'keep_waiting',
    about: 'A question then: waits on, is answered as the brain suggests, or the agent is told to decide by itself',
    project: 'trusted',
    inForce: true,
  }),
  'human.on_deadline.permission': oneOf(['keep_waiting', 'deny'], {
    standard: 'keep_waiting',
    about: 'A dangerous call then: waits on, or is refused; it is never approved by a clock',
    project: 'trusted',
    inForce: true,
  }),
  'memory.answers_ttl_days': count(1, {
    standard: 90,
    about: 'Days for which an answer of yours counts when the same is asked again; `--always` has no end',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'memory.answers_confidence': share({
    standard: 0.95,
    about: 'Confidence of an answer that you gave before; below `brain.confidence_threshold` you are asked again',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
