import { messageOf } from '../../../base/errors.ts'
import type { NewEvidence } from '../../../domain/workspace/evidence.ts'
import type { CriterionOpinion, VerifierMaterial, VerifierOpinion } from '../../../domain/workspace/landing/opinion.ts'
import { git } from '../../git/git.ts'
import type { Judge, VerifyRequest } from '../request.ts'
import type { Disturbance } from '../tree/keeper.ts'
import type { Subject } from '../tree/subject.ts'
import { type Seen, seen } from './seen.ts'

/** A diff is read by a model: beyond this it is cut. */
const MOST_DIFF = 60_000

export interface Judging {
  gate: 'verifier' | 'second-opinion'
  request: VerifyRequest
  subject: Subject
  criteria: string[]
  checks: readonly NewEvidence[]
}

/** Lets a second agent look, which may write nowhere: where the tree is another one afterwards, its word does not count. */
export async function verifierGate(
  { gate, request, subject, criteria, checks }: Judging,
  judge: Judge,
  keeper: ((gate: string) => Promise<Disturbance>) | undefined,
): Promise<{ seen: Seen; opinions: CriterionOpinion[] }> {
  const began = performance.now()
  const material = await materialOf({ request, subject, criteria, checks })
  const opinion = await judge(material, request.signal).catch(unable)
  const after = await keeper?.(gate)
  const isTouched = after !== undefined && (after.findings.length > 0 || after.made.length > 0)
  const status = isTouched ? 'broken' : opinion.status
  const unmet = opinion.criteria.filter(({ met }) => !met)
  const block = (code: string, text: string) => ({ code, weight: 'block' as const, text })
  const own =
    status === 'failed' && unmet.length === 0
      ? [block(`${gate}.failed`, `The ${gate} found: ${opinion.remarks}`)]
      : unmet.map(({ criterion, reason }) =>
          block(`${gate}.failed`, `The ${gate} found that this does not hold: ${criterion}. ${reason}`),
        )
  const broken =
    status === 'broken' ? [block(`${gate}.broken`, `The ${gate} gave no opinion that counts: ${opinion.remarks}`)] : []
  const findings = [...own, ...broken, ...(after?.findings ?? [])]
  return {
    seen: seen({
      ...{ gate, kind: gate, status: status === 'passed' && unmet.length > 0 ? 'failed' : status },
      duration_ms: Math.round(performance.now() - began),
      output: outputOf(opinion),
      findings,
    }),
    opinions: isTouched ? [] : opinion.criteria,
  }
}

function unable(thrown: unknown): VerifierOpinion {
  return { status: 'broken', criteria: [], remarks: messageOf(thrown), model: null, cost_usd: 0 }
}

function outputOf({ criteria, remarks, model }: VerifierOpinion): string {
  const lines = criteria.map(({ criterion, met, reason }) => `${met ? 'met' : 'not met'}: ${criterion} (${reason})`)
  return [...(model === null ? [] : [`by ${model}`]), ...lines, remarks].join('\n')
}

async function materialOf({ request, subject, criteria, checks }: Omit<Judging, 'gate'>): Promise<VerifierMaterial> {
  const { task, place, directory } = request
  const base = place?.base ?? request.began ?? null
  const head = subject.commit ?? subject.tree
  const told = base !== null && head !== null ? await diffOf(directory, base, head) : NO_DIFF
  const { id, title, description } = task
  return { directory, task: { id, title, description, acceptance: criteria }, base, head, ...told, checks }
}

const NO_DIFF = { diff: '', size: { files: 0, lines: 0 } }

async function diffOf(directory: string, base: string, head: string): Promise<typeof NO_DIFF> {
  const [diff, counts] = await Promise.all([
    git(directory, ['diff', '--no-color', base, head, '--']),
    git(directory, ['diff', '--numstat', base, head, '--']),
  ])
  const rows = counts.stdout.split('\n').filter(Boolean)
  const lines = rows.reduce((sum, row) => {
    const [more = '', less = ''] = row.split('\t')
    return sum + (Number(more) || 0) + (Number(less) || 0)
  }, 0)
  const text = diff.ok ? diff.stdout : `git could not show the diff: ${diff.stderr}`
  const cut =
    text.length > MOST_DIFF ? `${text.slice(0, MOST_DIFF)}\n[… ${text.length - MOST_DIFF} characters left out …]` : text
  return { diff: cut, size: { files: rows.length, lines } }
}
