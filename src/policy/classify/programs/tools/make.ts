import type { Call, Rule } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

const FLAGS = flagTable({
  loose: true,
  harmless: `-bBehiknpqrRsStvwyla -d? -j? -l? -O? -C: -I: -o: -W: -f: -t: -p? --always-make --jobs --keep-going --dry-run --just-print --recon
    --silent --quiet --question --touch --print-data-base --print-directory --no-print-directory --directory: --dir: --include-dir:
    --file: --makefile: --justfile: --taskfile: --load-average --output-sync --ignore-errors --no-builtin-rules --no-builtin-variables --trace --warn-undefined-variables
    --debug --stop --list --list-all --summary --show: --status --parallel --dry --verbose --color: --unsorted
    --working-directory: --dump --concurrency: --force --watch --exit-code`,
})

/** Targets that by their name reach beyond the project. */
const FAR =
  /(^|[-_:./])(install|uninstall|deploy|publish|release|destroy|drop|wipe|nuke|purge|prod|production|distclean|mrproper|teardown|provision|push|upload|flash|burn)([-_:./]|$)/i

/** A variable of the makefile: often a compiler or a list of flags, which run. */
function judgeVariable(call: Call, arg: Arg): undefined {
  const value = arg.value.slice(arg.value.indexOf('=') + 1)
  if (/^[/~]|(^|\/)\.\.(\/|$)|[;`|&$]|\$\(/.test(value))
    return call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or use something outside the project`, arg)
  call.say('tool.flag', 'MEDIUM', `${arg.text} changes a variable of the makefile`, arg)
}

/** make and its like run what the project's own file says for a target, as `npm run` does. */
export const make: Rule = call => {
  const runs = call.args.find(arg =>
    /^(--eval|-E|SHELL=|.*\.SHELLFLAGS|MAKEFLAGS=|--shell|-c$|--command)/.test(arg.value),
  )
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes ${call.name} run something else`, runs)
  const { flags, operands, unknown } = scanFlags(call.args, FLAGS)
  for (const { name, value } of flags) {
    if (value === undefined) continue
    if (/^(f|file|makefile|justfile|taskfile)$/.test(name)) judgeScriptFile(call, value)
    else if (/^(C|I|d|t|dir|directory|include-dir|working-directory)$/.test(name)) judgeToolWords(call, [value])
  }
  for (const arg of unknown)
    call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  for (const arg of operands) {
    if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    else if (/^\w+[:+?]?=/.test(arg.value)) judgeVariable(call, arg)
    else if (FAR.test(arg.value))
      call.say('script.far', 'MEDIUM', `${arg.text} sounds as if it reached beyond the project`, arg)
  }
  judgeToolWords(call, call.args.filter(isFlag))
}
