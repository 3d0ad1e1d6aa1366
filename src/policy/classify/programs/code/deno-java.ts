import type { Call } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { judgeInline } from '../common/inline-code.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

/** deno: verbs like those of other tools, and scripts with rights that are given one by one. */
export function deno(call: Call): undefined {
  const [verb, ...rest] = operandsOf(call.args)
  if (verb?.value === 'eval') return rest[0] ? judgeInline(call, rest[0]) : undefined
  if (verb && /^(test|lint|fmt|check|info|doc|types|bench|coverage|cache|outdated)$/.test(verb.value)) {
    const odd = call.args.find(arg => isFlag(arg) && !DENO_FLAGS.test(arg.value))
    if (odd) call.say('tool.flag', 'MEDIUM', `${odd.text} is not a flag of deno that the policy knows`, odd)
    return foreignWords(call)
  }
  if (verb && /^(run|serve)$/.test(verb.value) && rest[0]) {
    if (call.args.some(arg => /^(-A|--allow-all|--allow-run.*|--allow-ffi.*)$/.test(arg.value)))
      call.say('deno.rights', 'MEDIUM', 'it gets every right')
    return judgeScriptFile(call, rest[0])
  }
  if (verb?.value === 'task') {
    foreignWords(call)
    return call.say('script.run', 'MEDIUM', 'deno runs a task of the project')
  }
  call.say(
    'code.inline',
    verb && /^(install|upgrade|publish|compile|repl|jupyter|uninstall|deploy)$/.test(verb.value) ? 'HIGH' : 'MEDIUM',
    'deno runs or installs code',
  )
}

/** java: runs a class or an archive, and loads agents into it. */
export function java(call: Call): undefined {
  const agent = call.args.find(arg =>
    /^(-(javaagent|agentlib|agentpath|XX:OnError|XX:OnOutOfMemoryError|XX:Flags|XX:HeapDumpPath|XX:VMOptionsFile|Xlog:.*file=)|@)/.test(
      arg.value,
    ),
  )
  if (agent) call.say('flag.runs', 'HIGH', `${agent.text} loads code into it`, agent)
  const jar = findFlag(call.args, ['-jar'])
  if (jar?.value) judgeScriptFile(call, jar.value)
  else call.say('script.run', 'MEDIUM', 'java runs a class')
  foreignWords(call)
}

/** Flags with which deno checks, tests and formats with no more rights than before. */
const DENO_FLAGS =
  /^(-q|-[hV]|--(check|no-check|quiet|fail-fast|filter|parallel|doc|ignore|watch|json|rules|fix|no-lock|frozen|no-remote|cached-only|coverage|shuffle|trace-leaks|permit-no-files|reporter|compact|unstable-.*|ext|line-width|indent-width|single-quote|prose-wrap|no-semicolons|use-tabs|html|lcov|detailed|include|exclude|all|node-modules-dir|version|help)(=.*)?)$/

/** Words of a tool of the project that point outside it: then it runs or reads what nobody agreed to. */
function foreignWords(call: Call): undefined {
  judgeToolWords(call, call.args)
  for (const arg of call.args)
    if (/^https?:/.test(arg.value)) call.say('net.run', 'HIGH', `${arg.text} is code from the network`, arg)
}
