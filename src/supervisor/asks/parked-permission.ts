import { shortId } from '../../base/ids.ts'
import type { Park, QuestionItem, Request, Verdict } from '../../domain/session.ts'
import type { Run } from '../run.ts'
import type { Judgement } from './judge.ts'

/** What cannot be shown whole cannot be approved later: it is refused at once. */
const LONGEST = 4_000

/** Puts a dangerous call off until somebody answers; no process waits. Not possible for a subagent's call. */
export function parkPermission(request: Request, { decision }: Judgement, run: Run): Park | undefined {
  const what = shown(request)
  if (request.agentId !== undefined || what.length > LONGEST) return undefined
  const reason = `${decision.risk} risk: ${decision.reason}; it waits for a person`
  run.parking.set(request.callId, {
    ask_id: shortId('a'),
    call_id: request.callId,
    questions: [questionAbout(what)],
    reason,
  })
  run.log.info({ tool: request.tool }, 'permission parked')
  return { park: true, reason }
}

/** The answer with which a parked session was started again. It is for this very call with this very input, or for none. */
export function answerTo(request: Request, { decision }: Judgement, run: Run): Verdict | undefined {
  const given = run.answer
  if (given?.callId !== request.callId) return undefined
  run.answer = undefined
  const { answer } = given
  const { risk } = decision
  // What the policy refuses by itself, a blocked command for example, no answer opens.
  if (decision.verdict === 'deny' && decision.by === 'rule') return undefined
  const chosen = 'answers' in answer ? answer.answers[questionAbout(shown(request)).question] : undefined
  if (chosen === 'allow')
    return { verdict: 'allow', risk, reason: 'approved by a person', confidence: 1, by: answer.by }
  const said = 'declined' in answer ? answer.declined : chosen === 'deny' ? undefined : chosen
  const reason = said === undefined ? 'a person said no; go on without it' : [said].flat().join(', ')
  return { verdict: 'deny', risk, reason, confidence: 1, by: answer.by }
}

function questionAbout(what: string): QuestionItem {
  return {
    question: `May it run this? ${what}`,
    header: 'Permission',
    multiSelect: false,
    options: [
      { label: 'allow', description: 'This one call, as it is written here' },
      { label: 'deny', description: 'The agent goes on without it' },
    ],
  }
}

function shown({ tool, input }: Request): string {
  const command = input['command']
  return `${tool}: ${typeof command === 'string' ? command : JSON.stringify(input)}`
}
