import type { Finding } from '../../../domain/evidence.ts'
import type { DiffChange, DiffSettings } from './change.ts'

/** Every finding of the diff rules with its meaning in a sentence. The codes are stable: a person lists them in `gates.allow`. */
export const DIFF_CODES = {
  'diff.size': 'More lines were changed than `gates.max_changed_lines` allows; generated files do not count.',
  'diff.unread': 'A file was not checked: it is too large, or there are too many files.',
  'diff.secret': 'Something that looks like a key, a token or a password was added. It is never shown.',
  'diff.binary': 'A file that is not text was added or changed.',
  'diff.name': 'The name of a file is not UTF-8: programs would look at another file than git does.',
  'diff.encoding': 'Git is told to write files in another encoding: what is reviewed is not what runs.',
  'diff.merge-marker': 'A line that git leaves in conflicts (`<<<<<<<`) was added.',
  'diff.mode': 'A file was made executable, or became or ceased to be a link.',
  'diff.link': 'A link leads out of the repository: the gates saw files that are in no commit.',
  'diff.nested': 'A repository was created inside the work: no commit of this one contains its files.',
  'diff.empty': 'Nothing was changed: that the gates pass says nothing about the task.',
  'diff.submodule': 'A submodule points at another commit, which no gate has seen.',
  'path.forbidden': 'A file was changed that `gates.forbidden_paths` forbids to agents.',
  'path.ci': 'Configuration of continuous integration was changed: it runs elsewhere with secrets at hand.',
  'path.guard': 'A file was changed that steers the agent or its guard (`.perpetualcc*`, `.claude`, `.mcp.json`).',
  'path.hook': 'A git hook was changed, or where hooks are looked for.',
  'path.installed': 'Installed packages were committed, or a file that every program loads.',
  'path.lock': 'A lock file was changed, and not the manifest that it follows.',
  'test.deleted': 'A test is gone, but what it tested is not.',
  'test.unread':
    'A line of a test is gone that cannot be read as code: its language has no grammar here, or it does not parse.',
  'test.skipped': 'A test that ran is skipped now.',
  'test.focused': 'Only some tests run (`.only`, `fit`), which hides the others.',
  'test.emptied': 'A test is left without any assertion.',
  'test.assertion-removed': 'An assertion is gone from a test that is still there.',
  'test.weakened': 'An assertion was replaced by a weaker one.',
  'test.tautology': 'An assertion checks nothing of the program.',
  'test.unreached': 'Assertions are no longer reached, or only under a condition.',
  'test.swallowed': 'A failing assertion is caught and ignored.',
  'test.cases-removed': 'Cases were removed from a table of cases.',
  'test.expected-changed': 'What a test expects was changed.',
  'test.snapshot': 'A recorded expectation (snapshot, golden file) was changed.',
  'test.mocked': 'A test replaces the very thing that it tests.',
  'test.exit': 'A test, or its set-up, ends the process or makes every result a success.',
  'test.rigged': 'Test set-up changes what assertions, comparisons or reports mean.',
  'test.timeout': 'A time limit of tests was raised.',
  'test.retries': 'Tests are tried again until they pass.',
  'code.knows-tests': 'The program asks whether it is being tested.',
  'script.silenced': 'A check can no longer fail (`|| true`, `exit 0`, `continue-on-error`).',
  'script.replaced': 'A command that checks the work was replaced, narrowed or removed.',
  'script.no-verify': 'Hooks are bypassed (`--no-verify`).',
  'install.changed':
    'A script runs while packages are installed, or a package that was there before comes from another place.',
  'script.shim': 'A file replaces a test runner or another tool.',
  'config.excluded': 'Tests or files were excluded from what is checked.',
  'config.loosened': 'A checker was made less strict.',
  'config.threshold': 'A threshold was moved so that more passes.',
  'lint.disabled': 'A checker was silenced for a line or a file.',
} as const

type DiffCode = keyof typeof DIFF_CODES

export interface DiffFinding extends Finding {
  code: DiffCode
}

/** Examines a whole change and returns its findings. Rules are independent of each other. */
export type DiffRule = (change: DiffChange, settings: DiffSettings) => DiffFinding[]

/** A finding that blocks the task. */
export function block(code: DiffCode, text: string, at: { file?: string; line?: number } = {}): DiffFinding {
  return { code, weight: 'block', text, ...at }
}

/** A finding that is only shown. */
export function note(code: DiffCode, text: string, at: { file?: string; line?: number } = {}): DiffFinding {
  return { code, weight: 'note', text, ...at }
}
