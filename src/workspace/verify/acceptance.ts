import { messageOf } from '../../base/errors.ts'
import type {
  CriterionOpinion,
  Finding,
  NewEvidence,
  VerifierMaterial,
  VerifierOpinion,
} from '../../domain/evidence.ts'
import { git } from '../git/git.ts'
import type { VerifiedTree } from './commit-leftovers.ts'
import { type GateCheck, gateCheck, type Judge, statusByFindings, type VerifyRequest } from './request.ts'
import type { Disturbance } from './tree-watch.ts'

/** What became of each acceptance criterion. One that nothing speaks for is told; it does not stand in the way by itself. */
export function acceptanceGate(criteria: readonly Criterion[]): GateCheck {
  if (criteria.length === 0)
    return gateCheck({ ...ACCEPTANCE, status: 'skipped', output: 'The task has no acceptance criteria.' })
  const findings = criteria.map(findingOf)
  const output = criteria.map(
    ({ text, status, evidence }) => `${status}: ${text}${evidence === '' ? '' : ` [${evidence}]`}`,
  )
  return gateCheck({ ...ACCEPTANCE, status: statusByFindings(findings), findings, output: output.join('\n') })
}

const ACCEPTANCE = { gate: 'acceptance', kind: 'acceptance' } as const

function findingOf({ text, status, evidence }: Criterion): Finding {
  switch (status) {
    case 'met':
      return { code: 'acceptance.met', weight: 'note', text: `Met: ${text} (${evidence})` }
    case 'unmet':
      return { code: 'acceptance.unmet', weight: 'block', text: `Not met: ${text} (${evidence})` }
    case 'unproven':
      return {
        code: 'acceptance.unproven',
        weight: 'note',
        text: `Nothing that was run speaks for or against it: ${text}`,
      }
  }
}

/** Whether a criterion holds, and what says so. */
interface Criterion {
  text: string
  status: 'met' | 'unmet' | 'unproven'
  /** `test: shop > opens`, `verifier: …`; empty where nothing says anything. */
  evidence: string
}

/** The lines of a task's acceptance criteria. */
export function parseCriteria(acceptance: string): string[] {
  return acceptance
    .split('\n')
    .map(line => line.replace(/^\s*[-*]\s*(\[[ x]\]\s*)?/, '').trim())
    .filter(line => line !== '')
}

/** Each criterion with what is known about it: an opinion before what only has its words. */
export function judgeCriteria(
  texts: readonly string[],
  checks: readonly GateCheck[],
  opinions: readonly CriterionOpinion[],
): Criterion[] {
  return texts.map((text, at) => {
    const opinion = opinions.find(({ criterion }) => same(criterion, text)) ?? opinionByPosition(opinions, texts, at)
    if (opinion) return { text, status: opinion.met ? 'met' : 'unmet', evidence: `verifier: ${opinion.reason}` }
    return byGate(text, checks) ?? byTest(text, checks) ?? { text, status: 'unproven', evidence: '' }
  })
}

/** One that says the same in other words counts by its place, where there are as many. */
function opinionByPosition(
  opinions: readonly CriterionOpinion[],
  texts: readonly string[],
  at: number,
): CriterionOpinion | undefined {
  const isOther = (opinion: CriterionOpinion | undefined) =>
    opinion !== undefined && !texts.some(text => same(opinion.criterion, text))
  return opinions.length === texts.length && isOther(opinions[at]) ? opinions[at] : undefined
}

/** Criteria that ask for no more than that a gate passes. */
const ASKS_FOR: [gate: string, words: RegExp][] = [
  ['test', /^(all |the |existing |unit )*tests? (suite )?(still )?(pass(es)?|(is|are) green|succeeds?)( again)?\.?$/i],
  ['lint', /^((the )?lint(er|ing)?|eslint|biome|ruff|clippy) (passes|is clean|reports no (errors|problems))\.?$/i],
  ['typecheck', /^((the )?type-?check(er|ing)?|types|tsc|mypy) (pass(es)?|(is|are) clean|reports no errors)\.?$/i],
  ['build', /^((the )?(build|project|code)) (passes|succeeds|builds|compiles|is green)\.?$/i],
]

function byGate(text: string, checks: readonly GateCheck[]): Criterion | undefined {
  const bare = text.replaceAll('`', '').replace(/\.$/, '')
  const named = checks.find(
    ({ command }) => command !== null && same(bare.replace(/ (passes|succeeds|is green)$/i, ''), command),
  )
  const asked = ASKS_FOR.find(([, words]) => words.test(bare))?.[0]
  const check = named ?? checks.find(({ gate, kind }) => kind === 'command' && gate === asked)
  if (!check || check.status === 'skipped' || check.status === 'broken') return undefined
  const isMet = check.status === 'passed' || check.status === 'flaky'
  return { text, status: isMet ? 'met' : 'unmet', evidence: `${check.gate}: ${check.command} (exit ${check.exit})` }
}

/** A test that has most of the criterion's telling words in its name. */
function byTest(text: string, checks: readonly GateCheck[]): Criterion | undefined {
  const wanted = words(text)
  if (wanted.length < LEAST_WORDS) return undefined
  for (const { tests, gate } of checks) {
    for (const { name, status } of tests ?? []) {
      const there = new Set(words(name))
      if (wanted.filter(word => there.has(word)).length < wanted.length * LEAST_SHARE) continue
      if (status === 'skipped') continue
      return { text, status: status === 'failed' ? 'unmet' : 'met', evidence: `${gate}: ${name}` }
    }
  }
  return undefined
}

/** Fewer words fit too many tests; a share below this is another thing. */
const LEAST_WORDS = 3
const LEAST_SHARE = 0.75

function words(text: string): string[] {
  const all = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
  return [...new Set(all)].filter(word => !COMMON.has(word))
}

const COMMON = new Set(
  'the and for with that this from are was not has have its when then than must should can will does into'.split(' '),
)

function same(a: string, b: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[\s.`"']+/g, ' ')
      .trim()
  return plain(a) === plain(b)
}

/** A diff is read by a model: beyond this it is cut. */
const MOST_DIFF = 60_000

export interface VerifierGateRequest {
  gate: 'verifier' | 'second-opinion'
  request: VerifyRequest
  subject: VerifiedTree
  criteria: string[]
  checks: readonly NewEvidence[]
}

/** Lets a second agent look, which may write nowhere: where the tree is another one afterwards, its word does not count. */
export async function verifierGate(
  { gate, request, subject, criteria, checks }: VerifierGateRequest,
  judge: Judge,
  keeper: ((gate: string) => Promise<Disturbance>) | undefined,
): Promise<{ seen: GateCheck; opinions: CriterionOpinion[] }> {
  const began = performance.now()
  const material = await materialOf({ request, subject, criteria, checks })
  const opinion = await judge(material, request.signal).catch(failedOpinion)
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
    seen: gateCheck({
      ...{ gate, kind: gate, status: status === 'passed' && unmet.length > 0 ? 'failed' : status },
      duration_ms: Math.round(performance.now() - began),
      output: outputOf(opinion),
      findings,
    }),
    opinions: isTouched ? [] : opinion.criteria,
  }
}

function failedOpinion(thrown: unknown): VerifierOpinion {
  return { status: 'broken', criteria: [], remarks: messageOf(thrown), model: null, cost_usd: 0 }
}

function outputOf({ criteria, remarks, model }: VerifierOpinion): string {
  const lines = criteria.map(({ criterion, met, reason }) => `${met ? 'met' : 'not met'}: ${criterion} (${reason})`)
  return [...(model === null ? [] : [`by ${model}`]), ...lines, remarks].join('\n')
}

async function materialOf({
  request,
  subject,
  criteria,
  checks,
}: Omit<VerifierGateRequest, 'gate'>): Promise<VerifierMaterial> {
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
