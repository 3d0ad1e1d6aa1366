import type { KeyDecision } from '../../domain/checkpoint.ts'
import type { EventBody } from '../../domain/event.ts'
import type { QuestionItem } from '../../domain/session.ts'

/** What the answers to one call of questions decided, each with what spoke for the chosen option. */
export function answerDecisions(body: EventBody<'question.answered'>, asked: QuestionItem[]): KeyDecision[] {
  const { answers, declined, by } = body
  if (declined !== undefined) {
    return asked.map(({ question }) => ({ question, answer: 'nobody answered', rationale: declined, by }))
  }
  return Object.entries(answers).map(([question, chosen]) => {
    const labels = [chosen].flat()
    const options = asked.find(item => item.question === question)?.options ?? []
    const words = options.filter(({ label }) => labels.includes(label)).map(({ description }) => description)
    const rationale = words.filter(text => text !== '').join('; ') || `the words of ${by}`
    return { question, answer: labels.join(', '), rationale, by }
  })
}

/** What a person decided about a tool call. What the policy decides is decided the same way again, so it is not kept. */
export function permissionDecision(body: EventBody<'permission.decided'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (by !== 'human' && by !== 'precedent') return []
  return [{ question: mayRun(tool, target, risk), answer: ANSWERS[verdict], rationale: reason, by }]
}

/** What a person said afterwards about a call that nobody could be asked about. An answer to a question is told by its own event. */
export function escalationDecision(body: EventBody<'escalation.answered'>): KeyDecision[] {
  const { tool, target, verdict, risk, reason, by } = body
  if (verdict === undefined || tool === 'AskUserQuestion') return []
  const rationale = reason ?? `the decision of ${by}`
  return [{ question: mayRun(tool, target, risk), answer: ANSWERS[verdict], rationale, by }]
}

const ANSWERS = { allow: 'allowed', deny: 'denied' } as const

function mayRun(tool: string, target: string, risk: string): string {
  return `May it run (${risk} risk): ${tool}${target === '' ? '' : ` ${target}`}`
}
