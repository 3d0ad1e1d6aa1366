import type { Assessment } from '../../../src/domain/assessment.ts'
import { type Classifier, openClassifier } from '../../../src/policy/classify/classify.ts'

export const TOP = '/home/u/.perpetualcc/worktrees/shop/t-1a2b3c'
export const REPOSITORY = '/home/u/shop/.git'
const WORKTREE = { top: TOP, repository: REPOSITORY }

/** The assessments of a request for a session that works in a worktree and for one that works in the project. */
export function inWorktree(classifier: Classifier = openClassifier({ realPath: path => path })) {
  const ask = (tool: string, input: object, more: object = {}) =>
    classifier.classify({ tool, input, project: TOP, home: '/home/u', worktree: WORKTREE, ...more }) as Assessment
  const command = (text: string, more: object = {}) => ask('Bash', { command: text }, more)
  const isRefused = ({ reasons }: Assessment) => reasons.some(({ code }) => code.startsWith('boundary.'))
  return { ask, command, isRefused, refuses: (text: string) => isRefused(command(text)) }
}
