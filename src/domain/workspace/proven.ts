import type { Evidence } from './evidence.ts'

/**
 * Whether something could have failed because of the work and did not: a command, unless nothing was changed that it could have
 * failed by, or an agent that has read it.
 */
export function isProvenBy(checks: readonly Pick<Evidence, 'kind' | 'status' | 'findings'>[]): boolean {
  const isEmpty = checks.some(({ findings }) => findings.some(({ code }) => code === 'diff.empty'))
  return checks.some(({ kind, status }) => {
    const proves = kind === 'verifier' || kind === 'second-opinion' || (kind === 'command' && !isEmpty)
    return proves && (status === 'passed' || status === 'flaky')
  })
}
