import { MERGE_STRATEGIES } from '../../../workspace/merge.ts'
import { count, oneOf, type Setting, text } from '../../setting.ts'
import { onlyTo } from '../tighten.ts'

/** How verified work reaches the branch that it is for. */
export const MERGE_SETTINGS = {
  'merge.strategy': oneOf(MERGE_STRATEGIES, {
    standard: 'rebase',
    about: 'How verified work is put onto its target: its commits anew, a merge commit, or all of it as one commit',
    project: 'trusted',
    inForce: true,
  }),
  'merge.target': text({
    standard: undefined,
    about: 'The branch that work is for; unset: the one that is checked out in the project when a task begins',
    project: 'trusted',
    inForce: true,
  }),
  'merge.mode': oneOf(['auto', 'pr', 'off'], {
    standard: 'auto',
    about: 'Merge by itself, push and open a pull request with `gh`, or leave the work on its branch',
    project: 'trusted',
    inForce: true,
  }),
  'merge.batch': count(1, {
    standard: 4,
    about: 'Most that are verified and merged together; 1 takes each alone',
    project: 'trusted',
    inForce: true,
  }),
  'merge.review': oneOf(['off', 'required'], {
    standard: 'off',
    about: 'Whether a person has to look before work is merged',
    project: 'tighten',
    tighten: onlyTo('required'),
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
