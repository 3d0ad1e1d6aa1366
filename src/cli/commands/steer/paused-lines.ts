import type { SessionView } from '../../../domain/api.ts'
import { nameOf } from '../../render/format.ts'
import { resumeCommand } from '../../render/go-on.ts'
import { neutral } from '../../render/text.ts'

/** What a session is doing yet before it pauses. */
export function pausingLine(session: SessionView): string {
  const when =
    session.asks.length > 0 ? `when it has its answer (pcc attach ${session.id})` : 'after the tool in flight'
  return `Session ${nameOf(session)} pauses ${when}.`
}

/** What became of a session that was to be paused. */
export function pausedLines(session: SessionView, before: SessionView): string[] {
  const goOn = `Go on with: ${resumeCommand(session)}`
  switch (session.status) {
    case 'paused':
      if (before.status === 'paused' && before.resumes_at === null)
        return [`Session is paused already: ${nameOf(session)}`, goOn]
      if (before.status === 'rate_limited')
        return [`Session paused: ${nameOf(session)}`, 'It does not go on by itself when the limit resets.', goOn]
      return [`Session paused: ${nameOf(session)}`, goOn]
    case 'completed':
      return [`Session was complete before it could pause: ${nameOf(session)}`]
    case 'waiting_input':
      return [`Session waits for your answer, and does nothing until then: ${nameOf(session)}`, 'See: pcc pending']
    case 'stopped':
      return [`Session was stopped before it could pause: ${nameOf(session)}`, goOn]
    default:
      return [`Session failed before it could pause: ${nameOf(session)}`, ...reasonOf(session)]
  }
}

function reasonOf({ reason }: SessionView): string[] {
  return reason === null ? [] : neutral(reason).split('\n')
}
