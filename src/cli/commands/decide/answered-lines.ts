import { shellWord } from '../../../base/shell-word.ts'
import { neutral, wrap } from '../../render/text.ts'
import { type ShownEscalation, wholeLines } from './pending-lines.ts'

interface Answered {
  escalation: ShownEscalation
  remembered: boolean
  /** Its session waited for it, and goes on now. */
  wasOpen: boolean
}

/** What `pcc respond` says: what was answered, and what that changes. */
export function answeredLines({ escalation, remembered, wasOpen }: Answered, width: number): string[] {
  const { number, verdict, answer, session_id } = escalation
  const done = answer ? 'Answered' : verdict === 'allow' ? 'Approved' : 'Denied'
  return [
    `${done}: decision ${number} of session ${session_id}`,
    ...wholeLines(escalation, width),
    ...(answer ?? []).flatMap(each =>
      wrap(`> ${neutral([each].flat().join(', '))}`, width - 2).map(line => `  ${line}`),
    ),
    ...(wasOpen ? goesOn(escalation) : consequence(escalation, remembered)),
  ]
}

function goesOn({ kind, verdict, session_id, risk }: ShownEscalation): string[] {
  if (kind === 'error' && verdict === 'deny') return [`The session stays as it is; go on with: pcc resume ${session_id}`]
  if (kind === 'error') return [`The session tries again; watch it with: pcc attach ${session_id}`]
  const watch = `The session goes on; watch it with: pcc attach ${session_id}`
  if (kind === 'question' || verdict === 'deny') return [watch]
  return [watch, `It was for this one call: ${risk} requests are asked about every time.`]
}

/** What the answer changes, and what it does not. */
function consequence(escalation: ShownEscalation, remembered: boolean): string[] {
  const { verdict, project, risk } = escalation
  if (remembered) {
    const from = verdict === 'allow' ? 'is allowed from now on' : 'is refused from now on'
    return [`Remembered: the same request in ${neutral(project)} ${from}, without asking you.`]
  }
  if (verdict === 'deny') return ['It stays refused; this session does not list it again.']
  const why = risk === 'HIGH' ? 'HIGH requests are asked about every time' : 'the answer is for this one call alone'
  return [
    `Not remembered: ${why}. It was refused when the session asked, and will be the next time.`,
    ...ruleFor(escalation),
  ]
}

/** A rule opens a HIGH request only as that exact request, and only if it can be written on one line without wildcards. */
function ruleFor({ tool, normalised }: ShownEscalation): string[] {
  const exact = normalised.slice(tool.length + 1)
  const writable = exact !== '' && !/[*\p{Cc}\p{Cf}\u2028\u2029…]/u.test(exact)
  if (!writable) return ['No rule can allow exactly this; where you want it, do it yourself.']
  return [`To allow exactly this: pcc rules add allow ${shellWord(tool)} ${shellWord(exact)}`]
}
