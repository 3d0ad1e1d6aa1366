import type { SessionStatus } from '../../domain/api.ts'
import type { Tone } from './paint.ts'

/** How a status looks: the glyph and word of the manual, and its colour. */
export const STATUS_WORDS: Record<SessionStatus, { text: string; tone: Tone }> = {
  idle: { text: '○ Idle', tone: 'dim' },
  processing: { text: '● Running', tone: 'green' },
  waiting_input: { text: '● Waiting', tone: 'yellow' },
  rate_limited: { text: '⏳ Limited', tone: 'yellow' },
  paused: { text: '⏸ Paused', tone: 'yellow' },
  stopped: { text: '○ Stopped', tone: 'dim' },
  completed: { text: '✓ Completed', tone: 'green' },
  error: { text: '✗ Error', tone: 'red' },
}
