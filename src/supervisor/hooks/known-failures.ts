import { WRITING_TOOLS } from '../../domain/file-tools.ts'

/** A failure that has a usual cause, and what to do about it. */
export interface KnownFailure {
  code: string
  /** What is wrong, as a sentence. */
  issue: string
  next: string
}

interface FailedCall {
  tool: string
  output: string
  exit_code?: number | undefined
}

/** What is known about a failed call; the most specific rule first. Pure, and reads only the end and the beginning of the output. */
export function findKnownFailure({ tool, output, exit_code }: FailedCall): KnownFailure | undefined {
  const text =
    output.length <= MOST_READ ? output : `${output.slice(0, MOST_READ / 2)}\n${output.slice(-MOST_READ / 2)}`
  const rule = RULES.find(
    ({ exit, pattern, tools }) =>
      (tools === undefined || tools.test(tool)) &&
      ((exit !== undefined && exit === exit_code) || (pattern?.test(text) ?? false)),
  )
  return rule && { code: rule.code, issue: rule.issue, next: rule.next }
}

const MOST_READ = 20_000

interface Rule extends KnownFailure {
  pattern?: RegExp
  exit?: number
  /** Only for calls of these tools. */
  tools?: RegExp
}

const EDITS = new RegExp(`^(${[...WRITING_TOOLS, 'apply_patch'].join('|')})$`)

const RULES: readonly Rule[] = [
  {
    code: 'edit.no_match',
    tools: EDITS,
    pattern:
      /string to replace not found|old_string.{0,40}not found|could not find .{0,60}(?:to replace|context)|no match(?:es)? found|failed to find (?:expected lines|context)/i,
    issue: 'The text to replace is not in the file as it is now.',
    next: 'Read the file again around the place, then repeat the edit with its exact text, blanks included.',
  },
  {
    code: 'edit.many_matches',
    tools: EDITS,
    pattern: /found \d+ matches|multiple (?:matches|occurrences)|not unique/i,
    issue: 'The text to replace occurs more than once.',
    next: 'Repeat the edit with more of the lines around the place, so that the text occurs once.',
  },
  {
    code: 'edit.stale',
    tools: EDITS,
    pattern: /has not been read yet|modified since (?:it was )?(?:last )?read|file has (?:been )?(?:changed|modified)/i,
    issue: 'The file was not read, or was changed by somebody else since.',
    next: 'Read the file first, keep what others changed, then repeat the edit.',
  },
  {
    code: 'git.lock',
    pattern: /unable to create '[^'\n]*\.lock': File exists|Another git process seems to be running/i,
    issue: 'Another git command holds the lock of the repository.',
    next: 'Wait until the other git command ends and repeat the call. Do not delete the lock file: somebody may still write.',
  },
  {
    code: 'git.conflict',
    pattern: /CONFLICT \(|Automatic merge failed|fix conflicts and then|you have unmerged (?:paths|files)/i,
    issue: 'There are merge conflicts.',
    next: 'Open each file that `git status` lists as unmerged, keep what both sides are for, take the markers out, then `git add` it.',
  },
  {
    code: 'git.rejected',
    pattern: /\[rejected\]|failed to push some refs|non-fast-forward/i,
    issue: 'The remote branch has commits that are not here.',
    next: 'Fetch, look at what others pushed, and rebase your commits onto it. Do not force the push.',
  },
  {
    code: 'port.in_use',
    pattern: /EADDRINUSE|address already in use|port \d+ is already (?:in use|allocated)/i,
    issue: 'Something else listens on the port.',
    next: 'Use another port, or end the server that you started yourself. Do not kill processes that you did not start.',
  },
  {
    code: 'disk.full',
    pattern: /ENOSPC|no space left on device|disk quota exceeded/i,
    issue: 'The disk is full.',
    next: 'Stop writing. Tell the person that the disk is full and what you were about to write.',
  },
  {
    code: 'memory.full',
    exit: 137,
    pattern: /heap out of memory|Cannot allocate memory|Out of memory|OOMKilled/i,
    issue: 'The command ran out of memory or was killed.',
    next: 'Run less at once: a single test file, fewer workers, a smaller input.',
  },
  {
    code: 'time.out',
    exit: 124,
    pattern: /command timed out|timed out after \d+|timeout of \d+ ?m?s exceeded/i,
    issue: 'The command did not end in time.',
    next: 'Find out whether it waits for input or for a server. Run it in the background, or only the part that you need.',
  },
  {
    code: 'network.none',
    pattern:
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|Could not resolve host|Network is unreachable|Temporary failure in name resolution|Connection refused/i,
    issue: 'The address cannot be reached from here.',
    next: 'Check the address, and whether the server runs. If there is no network, go on without it and say what is missing.',
  },
  {
    code: 'access.refused',
    exit: 126,
    pattern: /EACCES|EPERM|permission denied|operation not permitted|read-only file system/i,
    issue: 'The file or program may not be used like this.',
    next: 'Work inside the project. Do not change rights or use sudo: ask the person if it is really needed.',
  },
  {
    code: 'module.missing',
    pattern:
      /Cannot find (?:module|package) '|ERR_MODULE_NOT_FOUND|ModuleNotFoundError|No module named|cannot find crate|package \S+ is not in (?:std|GOROOT)/i,
    issue: 'A dependency is missing or its path is wrong.',
    next: 'Check the spelling of the import and whether the lock file lists the package; then install what the lock file says.',
  },
  {
    code: 'program.missing',
    exit: 127,
    pattern: /command not found|: not found$|No such file or directory: '(?!.*\/)|is not recognized as/im,
    issue: 'The program is not installed, or not on the path.',
    next: "Look for the project's own way to run it (package.json scripts, a Makefile, node_modules/.bin) before you install anything.",
  },
  {
    code: 'script.missing',
    pattern: /missing script:|No rule to make target|unknown (?:task|target|command)/i,
    issue: 'There is no script or target of that name.',
    next: 'List the scripts or targets that exist, and use one of those.',
  },
  {
    code: 'file.missing',
    pattern: /ENOENT|no such file or directory|file does not exist|cannot find the (?:file|path)/i,
    issue: 'The file or folder does not exist there.',
    next: 'List the folder or search for the name, then use the path that exists.',
  },
  {
    code: 'types.failed',
    pattern: /error TS\d+|error\[E\d+\]|mypy: error|: error: /,
    issue: 'The code does not compile.',
    next: 'Fix the first error that the compiler names; later ones often follow from it.',
  },
  {
    code: 'tests.failed',
    pattern: /\b\d+ (?:tests? )?fail(?:ed|ing)\b|^not ok \d+|FAILED \(|Tests:.*failed|^--- FAIL:|^# fail [1-9]/im,
    issue: 'Tests fail.',
    next: 'Run the first failing test alone, read what it expected and what it got, and fix the code, not the test.',
  },
]
