import type { ModelNames, Rung } from '../models/model-names.ts'

/** What the choice goes by. */
export interface Stake {
  files: number
  lines: number
  /** Paths that were changed, as far as they are known. */
  paths: readonly string[]
}

/** A change that one reads at a glance. */
const SMALL = { files: 3, lines: 80 }
/** More than a careful person reads in one go. */
const LARGE = { files: 25, lines: 800 }

/** Where a mistake costs more than a red test: who may do what, secrets, money, data that cannot be made again, what runs in CI. */
const RISKY =
  /(^|[/._-])(auth|login|oauth|session|token|secret|crypt|password|permission|polic(y|ies)|acl|payment|billing|invoice|migrations?|schema|security|sandbox|sudo)([/._-]|$)|(^|\/)\.(github|gitlab|circleci)\/|(^|\/)(Dockerfile|Jenkinsfile)$|\.(sql|tf)$/i

/** How dear a mistake would be in what was changed. */
function riskOf(paths: readonly string[]): 'usual' | 'high' {
  return paths.some(path => RISKY.test(path)) ? 'high' : 'usual'
}

/** Which model judges a change: a cheap one what is small and harmless, a strong one what is large or dangerous. Pure. */
export function verifierModel(
  { files, lines, paths }: Stake,
  names: ModelNames,
): { model: string | undefined; why: string } {
  const isSmall = files <= SMALL.files && lines <= SMALL.lines
  const isLarge = files > LARGE.files || lines > LARGE.lines
  const risk = riskOf(paths)
  const choice = (rung: Rung, why: string) => ({ model: names[rung], why })
  if (risk === 'high') return isSmall ? choice('standard', 'small, but risky') : choice('strong', 'risky')
  if (isLarge) return choice('strong', 'large')
  return isSmall ? choice('light', 'small') : choice('standard', 'of usual size')
}
