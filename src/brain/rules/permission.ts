import type { Assessment, Reason } from '../../domain/assessment.ts'

/** A brain's opinion of a request. With a confidence of zero a person is asked. */
export interface PermissionOpinion {
  approve: boolean
  confidence: number
  reason: string
}

/**
 * Git commands that are routine on the task's own branch: they read, or they add to the history without removing
 * anything. This is the only list of them.
 */
export const ROUTINE_GIT_VERBS = [
  // read
  'status',
  'log',
  'diff',
  'show',
  'blame',
  'annotate',
  'branch',
  'describe',
  'rev-parse',
  'rev-list',
  'ls-files',
  'ls-tree',
  'ls-remote',
  'cat-file',
  'grep',
  'shortlog',
  'reflog',
  'remote',
  'config',
  'tag',
  'merge-base',
  'merge-tree',
  'name-rev',
  'for-each-ref',
  'show-ref',
  'show-branch',
  'check-ignore',
  'check-attr',
  'count-objects',
  'diff-tree',
  'diff-index',
  'diff-files',
  'whatchanged',
  'range-diff',
  'var',
  'version',
  'verify-commit',
  'verify-tag',
  'fsck',
  'cherry',
  'worktree',
  'submodule',
  'notes',
  'stripspace',
  'clean',
  'help',
  'interpret-trailers',
  'check-ref-format',
  'archive',
  // add
  'add',
  'stage',
  'commit',
  'restore',
  'stash',
  'mv',
  'switch',
  'checkout',
  'rm',
  'reset',
  'apply',
  'cherry-pick',
  'revert',
  'fetch',
  'pull',
  'format-patch',
  'merge',
  'bisect',
  'init',
] as const

/** Codes of reasons that are routine work on a project. All others are left to a person. */
const ROUTINE = new Set<string>([
  ...ROUTINE_GIT_VERBS.map(verb => `git.${verb}`),
  'git.branch-edit',
  'git.rewrite',
  'write.project',
  'write.in-place',
  'write.temp',
  'file.make',
  'file.copy',
  'file.move',
  'file.edit',
  'script.project',
  'script.run',
  'code.plain',
  'arg.listed',
  'cwd.listed',
  'env.unlisted',
  'shell.openers',
  'shell.nested',
  'pkg.read',
  'pkg.unlisted',
  'pkg.update',
  'tool.other',
  'net.get',
  'net.search',
  'net.look',
  'infra.read',
  'container.read',
  'container.compose',
  'infra.propose',
  'db.read',
  'db.migrate',
  'system.read',
  'proc.own',
  'obfuscation.decode',
  'read.wide',
])

/** The rule brain's opinion of a permission: it approves routine work on the project, and has no opinion on anything else. */
export function judgePermission(assessment: Pick<Assessment, 'risk' | 'reasons'>): PermissionOpinion {
  if (assessment.risk === 'HIGH') return unsure(assessment.reasons[0])
  const unusual = assessment.reasons.find(reason => reason.risk !== 'LOW' && !reason.own && !ROUTINE.has(reason.code))
  if (unusual) return unsure(unusual)
  const [first] = assessment.reasons
  return {
    approve: true,
    confidence: 0.85,
    reason: `${assessment.reasons.some(isBeyond) ? 'routine work' : 'inside the project'}${first ? `: ${first.text}` : ''}`,
  }
}

/** Whether a request also looks at something that is not in the project: the network, a container, a database, the system. */
function isBeyond({ code }: Reason): boolean {
  return /^(net|infra|container|db|system)\./.test(code)
}

function unsure(reason: Reason | undefined): PermissionOpinion {
  return { approve: false, confidence: 0, reason: reason?.text ?? 'it is not routine work' }
}
