import * as z from 'zod'
import type { CriterionOpinion } from '../../domain/workspace/landing/opinion.ts'
import { allJsonIn } from '../proposals/json-in.ts'
import { readSigils } from '../sigils/read-sigils.ts'

/** What a verifier says, before anybody counted what it cost. */
export interface ReadOpinion {
  status: 'passed' | 'failed'
  criteria: CriterionOpinion[]
  remarks: string
}

const LONGEST = 4_000
const MOST_CRITERIA = 200

const Text = z.string().transform(text => text.slice(0, LONGEST).toWellFormed())

const Reply = z.object({
  verdict: z.enum(['pass', 'fail']),
  criteria: z
    .array(z.object({ number: z.int().positive(), met: z.boolean(), reason: Text }))
    .max(MOST_CRITERIA)
    .default([]),
  remarks: Text.default(''),
})

/**
 * What a verifier's reply says: the JSON that was asked for, or the sigils `<verify-pass/>` and `<verify-fail>why</verify-fail>`. Where two
 * things are said (a reply may quote what it judges) the one that fails counts; a pass that leaves a criterion out says nothing yet.
 */
export function readOpinion(text: string, acceptance: readonly string[]): { value: ReadOpinion } | { problem: string } {
  const { passes, failure } = sigilsIn(text)
  const found = allJsonIn(text)
  if (found.length === 0 && !passes && failure === undefined) return { problem: 'there is no JSON object in it.' }
  if (found.length === 0) return { value: bySigil(failure, acceptance) }
  const read = found.map(json => Reply.safeParse(json))
  const said = read.flatMap(({ data }) => data ?? [])
  const data = said.find(({ verdict }) => verdict === 'fail') ?? said[0]
  if (!data) return { problem: z.prettifyError(read[0]?.error ?? new z.ZodError([])).slice(0, 2_000) }
  const asked = acceptance.length > 0 ? acceptance : ['the task as it was given']
  const criteria = asked.flatMap((criterion, index) => opinionOn(criterion, index + 1, data))
  const isPass = data.verdict === 'pass' && failure === undefined && criteria.every(({ met }) => met)
  const missing = asked.findIndex((_, index) => !data.criteria.some(({ number }) => number === index + 1))
  if (isPass && missing >= 0) return { problem: `it says "pass" and nothing of criterion ${missing + 1}.` }
  const remarks = [data.remarks.trim(), failure ?? ''].filter(part => part !== '').join('\n')
  return { value: { status: isPass ? 'passed' : 'failed', criteria, remarks } }
}

/** Of two words on one criterion the one that fails counts. */
function opinionOn(criterion: string, number: number, { criteria }: z.infer<typeof Reply>): CriterionOpinion[] {
  const said = criteria.filter(each => each.number === number)
  const one = said.find(({ met }) => !met) ?? said[0]
  return one ? [{ criterion, met: one.met, reason: one.reason }] : []
}

/** One word for all of them. */
function bySigil(failure: string | undefined, acceptance: readonly string[]): ReadOpinion {
  if (failure !== undefined) return { status: 'failed', criteria: [], remarks: failure }
  const criteria = acceptance.map(criterion => ({ criterion, met: true, reason: 'the verifier passed it as a whole' }))
  return { status: 'passed', criteria, remarks: '' }
}

function sigilsIn(text: string): { passes: boolean; failure: string | undefined } {
  const { sigils } = readSigils(text, { task: undefined })
  const failed = sigils.find(sigil => sigil.kind === 'verify-fail')
  return { passes: sigils.some(({ kind }) => kind === 'verify-pass'), failure: failed?.reason }
}
