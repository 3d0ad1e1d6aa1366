import { judgePermission } from '../../src/brain/rules/permission.ts'
import type { Assessment } from '../../src/domain/assessment.ts'
import type { Risk } from '../../src/domain/session.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { leaveToSandbox } from '../../src/policy/verdict/sandbox.ts'
import { followLinks } from './links.ts'

/** One labelled request: the risk must be between `min` and `max` and should be `ideal`. */
export interface CorpusRow {
  id: string
  tool: string
  cat: string
  min: Risk
  max: Risk
  ideal: Risk
  command?: string
  file_path?: string
  notebook_path?: string
  input?: unknown
  symlinks?: Record<string, string>
  why?: string
}

export interface Judged {
  row: CorpusRow
  risk: Risk
  codes: string[]
  /** Each reason with the words it refers to. */
  said: string[]
  /** Whether a person would be asked with the default settings. */
  escalates: boolean
  /** The same for an agent in a sandbox. */
  escalatesWalled: boolean
}

const RISKS: Risk[] = ['LOW', 'MEDIUM', 'HIGH']
const rank = (risk: Risk) => RISKS.indexOf(risk)

/** Runs every row through the classifier and the rule brain. */
export async function judgeRows(rows: readonly CorpusRow[]): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const row of rows) {
    using classifier = openClassifier({ realPath: followLinks(row.symlinks ?? {}) })
    const assessment = await classifier.classify({
      tool: row.tool,
      input: inputOf(row),
      project: '/proj',
      home: '/home/u',
    })
    const escalates = asksPerson(assessment)
    const escalatesWalled = asksPerson(leaveToSandbox(assessment))
    judged.push({
      row,
      risk: assessment.risk,
      codes: assessment.reasons.map(reason => `${reason.risk[0]}:${reason.code}`),
      said: assessment.reasons.map(({ risk, code, at, held }) =>
        [
          risk,
          held ? `${code} (held)` : code,
          ...(at && row.command !== undefined ? [row.command.slice(...at)] : []),
        ].join(' '),
      ),
      escalates,
      escalatesWalled,
    })
  }
  return judged
}

function asksPerson(assessment: Assessment): boolean {
  return assessment.risk === 'HIGH' || (assessment.risk === 'MEDIUM' && !judgePermission(assessment).approve)
}

/** The rows that are judged below their minimum risk. */
export function belowMin(judged: readonly Judged[]): Judged[] {
  return judged.filter(({ row, risk }) => rank(risk) < rank(row.min))
}

export function aboveMax(judged: readonly Judged[]): Judged[] {
  return judged.filter(({ row, risk }) => rank(risk) > rank(row.max))
}

function aboveIdeal(judged: readonly Judged[]): Judged[] {
  return judged.filter(({ row, risk }) => rank(risk) > rank(row.ideal))
}

/** The input of the tool call. */
export function inputOf(row: CorpusRow): unknown {
  if (row.input !== undefined) return row.input
  const { command, file_path, notebook_path } = row
  return {
    ...(command !== undefined && { command }),
    ...(file_path !== undefined && { file_path }),
    ...(notebook_path !== undefined && { notebook_path }),
  }
}

/** The report of `npm run corpus`. */
export async function report(
  rows: readonly CorpusRow[],
  { misses }: { misses: boolean },
): Promise<{ text: string; belowMin: number }> {
  const judged = await judgeRows(rows)
  const lines = [...matrix(judged), '', ...perCategory(judged), '', ...summary(judged)]
  if (misses) lines.push('', ...listed(judged))
  return { text: `${lines.join('\n')}\n`, belowMin: belowMin(judged).length }
}

function matrix(judged: readonly Judged[]): string[] {
  const header = `${'ideal \\ judged'.padEnd(16)}${RISKS.map(risk => risk.padStart(8)).join('')}`
  const lines = RISKS.map(ideal => {
    const counts = RISKS.map(risk => judged.filter(one => one.row.ideal === ideal && one.risk === risk).length)
    return `${ideal.padEnd(16)}${counts.map(count => String(count).padStart(8)).join('')}`
  })
  return [header, ...lines]
}

function perCategory(judged: readonly Judged[]): string[] {
  const groups = Map.groupBy(judged, one => one.row.cat)
  const columns = ['rows', 'below-min', 'above-max', 'above-ideal', 'below-ideal', 'escalate']
  const header = `${'category'.padEnd(22)}${columns.map(name => name.padStart(12)).join('')}`
  const lines = [...groups]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, group]) => {
      const below = group.filter(({ row, risk }) => rank(risk) < rank(row.ideal))
      const counts = [
        group.length,
        belowMin(group).length,
        aboveMax(group).length,
        aboveIdeal(group).length,
        below.length,
        group.filter(one => one.escalates).length,
      ]
      return `${name.padEnd(22)}${counts.map(count => String(count).padStart(12)).join('')}`
    })
  return [header, ...lines]
}

function summary(judged: readonly Judged[]): string[] {
  const safe = judged.filter(({ row }) => row.cat.startsWith('safe.'))
  const stopped = safe.filter(one => one.escalates)
  const share = safe.length === 0 ? 0 : (100 * stopped.length) / safe.length
  return [
    `rows ${judged.length}, below-min ${belowMin(judged).length}, above-max ${aboveMax(judged).length}, above-ideal ${aboveIdeal(judged).length}`,
    `safe.* that would ask a person: ${stopped.length} of ${safe.length} (${share.toFixed(1)} %)`,
  ]
}

function listed(judged: readonly Judged[]): string[] {
  const show = (title: string, group: readonly Judged[]) =>
    group.map(
      ({ row, risk, codes }) =>
        `${title} ${row.cat} ${row.id} ${risk} (${row.min}..${row.max}, ideal ${row.ideal}) ${JSON.stringify(row.command ?? row.file_path ?? row.input).slice(0, 120)} ${codes.join(' ')}`,
    )
  const belowIdeal = judged.filter(({ row, risk }) => rank(risk) < rank(row.ideal))
  return [
    ...show('BELOW-MIN', belowMin(judged)),
    ...show('ABOVE-MAX', aboveMax(judged)),
    ...show(
      'ESCALATES',
      judged.filter(one => one.escalates && one.row.cat.startsWith('safe.')),
    ),
    ...show('below-ideal', belowIdeal),
    ...show('above-ideal', aboveIdeal(judged)),
  ]
}
