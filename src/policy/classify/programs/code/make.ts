import type { Rule } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

export const make: Rule = call => {
  const runs = call.args.find(arg => /^(--eval|-E$|SHELL=|.*\.SHELLFLAGS|MAKEFLAGS=)/.test(arg.value))
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes make run something else`, runs)
  const file = findFlag(call.args, ['-f', '--file', '--makefile'], 'fCIjloW')
  if (file?.value) judgeScriptFile(call, file.value)
  const folder = findFlag(call.args, ['-C', '--directory', '-I', '--include-dir'], 'fCIjloW')
  if (folder?.value) judgeToolWords(call, [folder.value])
  for (const arg of operandsOf(call.args, [
    '-f',
    '-C',
    '-I',
    '-l',
    '-o',
    '-W',
    '--file',
    '--makefile',
    '--directory',
    '--include-dir',
  ])) {
    if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    else if (/^\w+[:+?]?=/.test(arg.value))
      call.say('tool.flag', 'MEDIUM', `${arg.text} changes a variable of the makefile`, arg)
    else if (
      /(^|[-_:./])(install|uninstall|deploy|publish|release|destroy|drop|wipe|nuke|purge|prod|production|distclean|mrproper|teardown|provision|push|upload|flash|burn)([-_:./]|$)/i.test(
        arg.value,
      )
    )
      call.say('script.far', 'MEDIUM', `${arg.text} sounds as if it reached beyond the project`, arg)
  }
  judgeToolWords(call, call.args.filter(isFlag))
}
