import { judgePermission } from '../../brain/rules/permission.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { Request } from '../../domain/session.ts'
import type { Desk } from '../run.ts'
import { brainContext } from './context.ts'

export interface PermissionAdvice {
  approve: boolean
  confidence: number
  /** For the log: who, and why. */
  reason: string
  by: string
  reasoning: string
}

/** What the brains think of a request. The rules are asked first and alone: most of the time they know, in microseconds. */
export async function opinionOn(
  { tool, input }: Request,
  assessment: Assessment,
  signal: AbortSignal,
  { run, parts }: Desk,
): Promise<PermissionAdvice> {
  const ruled = judgePermission(assessment)
  const byRules = { ...ruled, by: 'rules', reasoning: ruled.reason }
  const { brain, threshold } = run.mind
  const isKnown = byRules.approve && byRules.confidence >= threshold
  if (isKnown || assessment.risk !== 'MEDIUM' || brain.name === 'rules') return byRules
  const found = assessment.reasons.map(({ code, risk, text }) => ({ code, risk, text }))
  const asked = { tool, input, risk: assessment.risk, reasons: found.map(({ text }) => text), found }
  const opinion = await brain.evaluatePermission(asked, await brainContext(run, parts), signal)
  if (opinion.value === undefined) return byRules
  const { value: approve, confidence, by, reasoning } = opinion
  return { approve, confidence, by, reasoning, reason: `${by}: ${reasoning}` }
}
