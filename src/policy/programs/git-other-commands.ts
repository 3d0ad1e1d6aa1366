import type { ProgramCall } from '../classify/call.ts'
import { CHECK_FILE, hidesTests, isTestPath } from '../classify/weaker-checks.ts'
import { isScratchFile, judgePath } from '../paths/judge-path.ts'
import { type Arg, deriveArg, findFlag, findOperands, isFlag } from '../shell/args.ts'
import { type GitCommandRule, has, isAddress, RUNS_PROGRAM, say } from './git-commands.ts'
import { SECRET_WORDS } from './search.ts'
import { judgePatch } from './written-files.ts'

/** Commands that can also set, run, fetch or write something. */
export const OTHER_GIT_COMMANDS: Record<string, GitCommandRule> = {
  fetch: judgeFetch,
  pull: judgeFetch,
  'ls-remote': judgeFetch,
  mv: (call, args) => {
    const operands = findOperands(args)
    const target = operands.at(-1)
    for (const arg of operands) call.path(arg, 'write')
    if (target)
      for (const arg of operands.slice(0, -1)) {
        call.path(deriveArg(joinPath(target.value, arg.value), target), 'write')
        if (hidesTests(arg.value, target.value))
          call.say('git.rm-guard', 'MEDIUM', `${arg.text} are tests, which nothing would run any more`, arg)
      }
    return undefined
  },
  apply: judgePatchedFiles,
  am: judgePatchedFiles,
  'symbolic-ref': (call, args) => {
    const reads = findOperands(args).length === 1 && !has(args, /^(-d|--delete|-m)$/)
    return reads ? say(call, 'git.rev-parse', 'MEDIUM', 'git symbolic-ref shows a name') : undefined
  },
  'interpret-trailers': (call, args) => {
    const inPlace = has(args, /^--in-p[a-z-]*$|^--in-place$/)
    if (inPlace) for (const arg of findOperands(args, ['--trailer'])) call.path(arg, 'write')
    return undefined
  },
  config: (call, args) => {
    const operands = findOperands(args, ['-f', '--file', '--blob', '--type', '--default', '--comment']).filter(
      arg => !/^(get|set|list|unset|edit|rename-section|remove-section)$/.test(arg.value),
    )
    const reads =
      has(
        args,
        /^(--get|--get-all|--get-regexp|--list|-l|--get-urlmatch|get|list|--show-origin|--show-scope|--get-color.*)$/,
      ) ||
      (operands.length === 1 &&
        !has(args, /^(--unset.*|--replace.*|--add|--edit|-e|--remove.*|--rename.*|unset|edit|set|--unset)$/))
    const isTelling = has(args, /extraheader|credential|password|token|^url\.|insteadof/i)
    const [pattern] = has(args, /^--get-regexp$/) ? operands : []
    if (reads && (isTelling || (pattern && !HARMLESS_KEYS.test(pattern.value))))
      return say(call, 'secret.config', 'MEDIUM', 'what git is set to may hold a password', operands[0])
    if (reads && !has(args, /^(set|unset|edit|--edit|-e|--add|--unset.*|--replace-all|--remove-section)$/))
      return undefined
    const [key] = operands
    const wide = has(args, /^--(global|system)$/)
    if (wide) return say(call, 'git.setting', 'HIGH', `${wide.text} changes git for everything a person does`, wide)
    if (
      !key ||
      RUNS_PROGRAM.test(key.value) ||
      !key.known ||
      has(args, /^(-e|--edit|edit|--remove-section|--rename-section|remove-section|-f|--file.*)$/)
    )
      return say(
        call,
        'git.setting',
        'HIGH',
        `${key?.text ?? 'it'} decides which programs git runs or where it goes`,
        key,
      )
    return say(call, 'git.config-set', 'MEDIUM', `${key.text} is changed`, key)
  },
  // The right to run a file, as `chmod +x` and `git add` change it.
  'update-index': (call, args) => {
    const isPlain = args.every(arg => !isFlag(arg) || /^(--chmod=[+-]x|--refresh|-q|--)$/.test(arg.value))
    if (!isPlain || !has(args, /^(--chmod=[+-]x|--refresh)$/)) return undefined
    for (const arg of findOperands(args)) call.path(arg, 'write')
    return say(call, 'git.add', 'MEDIUM', 'git update-index changes the right to run a file')
  },
  rebase: (call, args) => {
    const run = findFlag(args, ['-x', '--exec'], 'xsXCS')
    if (run?.value) call.shell(run.value)
    if (run) return say(call, 'git.exec', 'MEDIUM', 'git rebase runs a command', run.arg)
    const abort = judgeGivenUp(call, args)
    if (abort) return abort
    const drops = findFlag(args, ['--onto', '--root', '--skip'], 'xsXCS')
    if (drops) return say(call, 'git.drop', 'MEDIUM', `${drops.arg.text} can leave out commits`, drops.arg)
    return say(call, 'git.rewrite', 'MEDIUM', 'git rebase rewrites the branch', args[0])
  },
  bisect: (call, args) => {
    const [verb, ...rest] = args
    if (verb?.value !== 'run') return undefined
    call.run(rest)
    return say(call, 'script.run', 'MEDIUM', 'git bisect runs a command', verb)
  },
  submodule: (call, args) => {
    const operands = findOperands(args)
    const [verb, ...rest] = operands
    if (verb?.value === 'foreach') {
      const [first] = rest
      if (first)
        call.shell({ ...first, value: rest.map(arg => arg.value).join(' '), known: rest.every(arg => arg.known) })
      return say(call, 'git.exec', 'MEDIUM', 'git submodule foreach runs a command', verb)
    }
    if (verb && /^(deinit)$/.test(verb.value))
      return say(call, 'git.destroy', 'HIGH', 'git submodule deinit removes files', verb)
    // What the project itself names; `--remote` and other ways to update take what nobody has seen, or throw changes away.
    const isPlain = args.every(
      arg =>
        arg.known &&
        (!isFlag(arg) ||
          /^(--init|--recursive|--depth(=\d+)?|-j\d*|--jobs(=\d+)?|--progress|--quiet|-q|--checkout|--single-branch)$/.test(
            arg.value,
          )),
    )
    if (verb && /^(update|init|sync)$/.test(verb.value) && isPlain && verb.value !== 'sync') return undefined
    return verb && !/^(status|summary)$/.test(verb.value)
      ? say(call, 'git.submodule-edit', 'MEDIUM', `git submodule ${verb.text}`, verb)
      : undefined
  },
  worktree: (call, args) => {
    const [verb, folder, ...refs] = findOperands(args)
    const isPlain = args.every(
      ({ known, value }) => known && (!value.startsWith('-') || /^(-q|--quiet|--detach|-d)$/.test(value)),
    )
    if (folder && isPlain && call.scope.folders.size === 1 && /^\/tmp\/[A-Za-z][\w.-]*$/.test(folder.value)) {
      // A second checkout for now, which the same command has made.
      if (verb?.value === 'remove' && refs.length === 0 && call.scope.made.has(folder.value)) return undefined
      const isFree = isScratchFile(folder.value, call.fence) && call.fence.look?.(folder.value) === undefined
      if (verb?.value === 'add' && isFree && refs.every(({ value }) => /^[\w][\w./~^@-]*$/.test(value))) {
        call.scope.made.add(folder.value)
        return undefined
      }
    }
    if (verb && /^(remove|prune)$/.test(verb.value))
      return say(call, 'git.destroy', 'HIGH', `git worktree ${verb.text} removes a worktree with its work`, verb)
    return verb && verb.value !== 'list'
      ? say(call, 'git.worktree-edit', 'MEDIUM', `git worktree ${verb.text}`, verb)
      : undefined
  },
  grep: (call, args) => {
    const pager = has(args, /^(-O.*|--op[a-z-]*(=.*)?)$/)
    if (pager) return say(call, 'git.exec', 'HIGH', `${pager.text} runs a program`, pager)
    const wide = has(args, /^--(no-in|no-ex)/)
    const telling = has(args, SECRET_WORDS)
    return wide && telling
      ? say(call, 'read.secrets', 'MEDIUM', `${telling.text} is looked for where secrets are kept`, telling)
      : undefined
  },
  rm: (call, args) => {
    const wide = has(args, /^(-[a-zA-Z]*[fr][a-zA-Z]*|--force|\.|\*)$/)
    judgeRemovedGuards(call, findOperands(args, ['--pathspec-from-file']))
    // It takes files out of the index and leaves them where they are.
    if (has(args, /^--cached$/)) return undefined
    return wide ? say(call, 'file.delete', 'HIGH', 'git rm deletes files', wide) : undefined
  },
  lfs: (call, args) => {
    const [verb] = findOperands(args)
    return verb && /^(prune|uninstall|migrate|dedup)$/.test(verb.value)
      ? say(call, 'git.destroy', 'HIGH', `git lfs ${verb.text} removes data`, verb)
      : undefined
  },
  merge: (call, args) =>
    judgeGivenUp(call, args) ??
    (has(args, /^--qui?t?$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it gives up a merge') : undefined),
  revert: judgeGivenUp,
  commit: (call, args) => {
    for (const flag of ['-F', '--file', '-t', '--template']) {
      const file = findFlag(args, [flag], 'mFCctS')
      if (file?.value) call.path(file.value, 'read')
    }
    const skips = has(args, /^(--no-v(e(r(i(fy?)?)?)?)?|-[aeipqsvz]*n[a-zA-Z]*)$/)
    if (skips) return say(call, 'git.unchecked', 'MEDIUM', `${skips.text} skips the checks of the project`, skips)
    return has(args, /^--am(e(nd?)?)?$/) ? say(call, 'git.rewrite', 'MEDIUM', 'it rewrites the last commit') : undefined
  },
  add: (call, args) => {
    for (const arg of args) if (!isFlag(arg)) call.secret(arg)
    const force = has(args, /^(-f|--force)$/)
    return force ? say(call, 'git.add-forced', 'MEDIUM', 'it adds what is ignored on purpose', force) : undefined
  },
  clone: (call, args) => {
    // Submodules of a repository that nobody has seen yet have made git run code more than once.
    const odd = has(args, /^(-c|--config|-u|--upload-pack.*|--template.*|--recurse-submodules.*|--recursive)$/)
    if (odd) call.say('git.exec', 'HIGH', `${odd.text} makes git run or fetch more`, odd)
    const target = findOperands(args, [
      '-b',
      '--branch',
      '--depth',
      '-o',
      '-c',
      '--config',
      '-u',
      '--reference',
      '--filter',
      '-j',
      '--template',
    ])[1]
    if (target) call.path(target, 'write')
    return undefined
  },
  archive: (call, args) => {
    const out = findFlag(args, ['-o', '--output'], 'o')?.value
    const isPlain = args.every(
      arg => !isFlag(arg) || /^(-o|--output=.*|--(format|prefix)=[\w./-]+|-\d)$/.test(arg.value),
    )
    if (isPlain && out?.known && /\.(tar(\.gz)?|tgz|zip)$/.test(out.value) && isScratchFile(out.value, call.fence)) {
      call.path(out, 'write')
      return undefined
    }
    return has(args, /^(-o.*|--o.*|--r.*|--e.*|--a.*)$/)
      ? say(call, 'write.flag', 'HIGH', 'git archive writes a file or asks another machine')
      : undefined
  },
  'format-patch': (call, args) => {
    const folder = findFlag(args, ['-o', '--output-directory'], 'ovn')
    if (folder?.value) call.path(folder.value, 'write')
    return has(args, /^--stdout$/) ? undefined : say(call, 'file.make', 'MEDIUM', 'git format-patch writes files')
  },
  bundle: (call, args) =>
    has(args, /^(create|unbundle)$/) ? say(call, 'write.flag', 'HIGH', 'git bundle writes a file') : undefined,
  init: (call, args) => {
    const apart = findFlag(args, ['--separate-git-dir'])
    if (apart?.value) call.path(apart.value, 'write')
    for (const arg of findOperands(args, ['--template', '-b', '--separate-git-dir'])) call.path(arg, 'write')
    return undefined
  },
  notes: (call, args) =>
    has(args, /^(remove|prune)$/) ? say(call, 'git.destroy', 'HIGH', 'git notes throws away notes') : undefined,
  help: (call, args) => (has(args, /^(-w|--web)$/) ? say(call, 'git.exec', 'MEDIUM', 'it opens a browser') : 'said'),
  'cherry-pick': judgeGivenUp,
  log: (call, args) => {
    const telling = args.find(arg =>
      /^(-[SG]|--grep).*(secret|passw|token|api_?key|private.?key|AKIA)/i.test(arg.value),
    )
    return telling
      ? say(call, 'read.secrets', 'MEDIUM', `${telling.text} looks for secrets in the history`, telling)
      : undefined
  },
  'hash-object': (call, args) =>
    has(args, /^(-w|--stdin-paths|--literally)$/) || has(args, /^-[a-z]*w/)
      ? undefined
      : say(call, 'git.rev-parse', 'MEDIUM', 'git hash-object computes a hash'),
}

/** A fetch may overwrite a branch, and an address that is no remote of the project is foreign. */
function judgeFetch(call: ProgramCall, args: readonly Arg[]): 'said' | undefined {
  const force = args.find(arg => /^\+|^(-[a-zA-Z46]*f[a-zA-Z46]*|--force?)$/.test(arg.value))
  if (force) return say(call, 'git.fetch-forced', 'MEDIUM', `${force.text} overwrites a branch`, force)
  const operands = findOperands(args, ['-o', '--upload-pack', '--depth', '-j', '--jobs', '--server-option', '--sort'])
  const [remote] = operands
  const sent = args.find(arg => arg.substituted)
  if (sent) return say(call, 'net.send', 'HIGH', `${sent.text} sends what a command prints`, sent)
  if (remote && isAddress(remote.value))
    return say(call, 'git.elsewhere', 'MEDIUM', `${remote.text} is not a remote of the project`, remote)
  return undefined
}

/** A patch writes the files that it names. */
function judgePatchedFiles(call: ProgramCall, args: readonly Arg[]): 'said' | undefined {
  const abort = judgeGivenUp(call, args)
  if (abort) return abort
  const wide = has(args, /^--unsafe/)
  if (wide) return say(call, 'path.outside', 'HIGH', `${wide.text} lets the patch write outside the project`, wide)
  const folder = findFlag(args, ['--directory'])
  if (folder?.value) call.path(folder.value, 'write')
  // Without `--apply`, these flags only show what a patch would do.
  if (has(args, /^--(check|stat|numstat|summary)$/) && !has(args, /^--apply$/)) return undefined
  const files = findOperands(args, ['-p', '-C', '--directory', '--exclude', '--include', '--whitespace'])
  const strip = Number(findFlag(args, ['-p'], 'pC')?.value?.value ?? 1)
  judgePatch(call, { files: files.filter(arg => arg.value !== '-'), folder: folder?.value, strip })
  return undefined
}

/** Giving up throws away every conflict that is solved, and what was changed since. */
function judgeGivenUp(call: ProgramCall, args: readonly Arg[]): 'said' | undefined {
  const abort = has(args, /^--ab(o(rt?)?)?$/)
  return abort ? say(call, 'git.give-up', 'MEDIUM', 'it throws away the conflicts that are solved', abort) : undefined
}

function joinPath(folder: string, file: string): string {
  return `${folder.replace(/\/+$/, '')}/${file.slice(file.lastIndexOf('/') + 1)}`
}

/** Removing what reviews, machines or tools check a project by is asked about, and so are tests by a pattern, as a folder, several of them, or tests alone. */
function judgeRemovedGuards(call: ProgramCall, files: readonly Arg[]): undefined {
  for (const file of files) {
    const { code, text } = judgePath(file.value, 'write', {
      cwd: call.scope.cwd ?? call.fence.boundary,
      fence: call.fence,
    })
    const steers = /^path\.(ci|hook|runs|instructs|guard|git|tool-config)$/.test(code)
    if (steers || CHECK_FILE.test(file.value)) call.say('git.rm-guard', 'MEDIUM', `it removes a guard: ${text}`, file)
  }
  const tests = files.filter(({ value }) => isTestPath(value))
  const wide = tests.find(({ glob, value }) => glob || /[*?[]/.test(value) || !/\.\w+$/.test(value))
  // Who removes a feature removes its code too.
  const isOnlyTests = call.fence.look !== undefined && files.length > 0 && tests.length === files.length
  if (wide || tests.length >= MANY_TESTS || isOnlyTests)
    call.say('git.rm-guard', 'MEDIUM', `${(wide ?? tests[0])?.text} and the like are tests`, wide ?? tests[0])
}

/** Who removes a feature removes a test or two with it. */
const MANY_TESTS = 3

/** Patterns for keys of git that hold no password. */
const HARMLESS_KEYS =
  /^\^?((branch|user|alias|core|init|pull|push|merge|rebase|diff|color|commit|fetch|rerere|log|status|submodule)|\(((branch|remote|user|core|pull|push|diff)(\||(?=\))))+\))(\\?\.[\w.*\\-]*)?\$?$/
