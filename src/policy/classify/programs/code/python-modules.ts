import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { operandsOf } from '../../words/flags.ts'
import { judgeInline } from '../common/inline-code.ts'
import { judgeWritten } from '../common/reader.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

/** Modules that are programs with a rule of their own, by the name of that program. */
const PROGRAMS: Record<string, string> = {
  ...Object.fromEntries(
    'pip pip3 pytest mypy black ruff flake8 isort pylint pyflakes pycodestyle coverage tox nox venv virtualenv poetry pipenv uv twine pre_commit unittest doctest bandit mkdocs behave autopep8 yapf radon vulture pdm hatch conda'
      .split(' ')
      .map(name => [name, name]),
  ),
  'http.server': 'http-server',
  sphinx: 'sphinx-build',
  ensurepip: 'easy_install',
  idlelib: 'python3',
}

/** Modules that only check, list or show, with the flags that they have for it. */
const SHOWS =
  /^(py_compile|compileall|json\.tool|this|platform|sysconfig|tabnanny|ast|dis|tokenize|calendar|site|inspect|pyclbr|symtable|mimetypes|pip_audit|build|tarfile|zipfile)$/
const SHOW_FLAGS =
  /^(-[qfvlhmaCsoO0-9]+|--(sort-keys|indent|no-indent|tab|compact|json-lines|no-ensure-ascii|user-site|user-base|mode|exact|help|version|no-type-comments|include-attributes|type|details|list|test|wheel|sdist|outdir|encoding|first-weekday|months)(=.*)?)$/

/** `python -m name`: a program that has a rule, a module that shows things, or code like any other. */
export function judgeModule(call: Call, module: Arg | undefined): undefined {
  if (!module?.known) return call.say('code.unknown', 'HIGH', 'the module is known only when it runs')
  // Glued (`-mpip`), the module is part of its flag.
  const place = call.args.findIndex(arg => arg === module || arg.at === module.at)
  const rest = place < 0 ? [] : call.args.slice(place + 1)
  const program = Object.hasOwn(PROGRAMS, module.value) ? PROGRAMS[module.value] : undefined
  if (program !== undefined) return call.run([{ ...module, value: program }, ...rest])
  for (const arg of rest) call.path(isFlag(arg) ? { ...arg, value: '-' } : arg, 'read')
  if (SHOWS.test(module.value)) return judgeShown(call, module, rest)
  if (/^(timeit|cProfile|profile|trace|pdb|runpy)$/.test(module.value)) return judgeRun(call, module, rest)
  call.say('code.module', 'MEDIUM', `the module ${module.text} runs`, module)
}

function judgeShown(call: Call, module: Arg, rest: readonly Arg[]): undefined {
  if (/^(py_compile|compileall|build)$/.test(module.value)) judgeToolWords(call, rest)
  for (const arg of rest)
    if (isFlag(arg) && !SHOW_FLAGS.test(arg.value))
      call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${module.text} that the policy knows`, arg)
  const [, out] = operandsOf(rest, ['--indent', '-m', '--mode'])
  if (out && module.value === 'json.tool') judgeWritten(call, out, out)
  if (/^(tarfile|zipfile)$/.test(module.value) && !rest.some(arg => /^(-l|-t|--list|--test)$/.test(arg.value)))
    call.say('file.archive', 'MEDIUM', `${module.text} packs or unpacks files`, module)
}

/** Their words are program text, or a script that is run under watch. */
function judgeRun(call: Call, module: Arg, rest: readonly Arg[]): undefined {
  if (module.value === 'timeit') {
    for (const arg of rest) if (!/^(-[nruphv]|\d+)$/.test(arg.value)) judgeInline(call, arg)
    return
  }
  const [script] = operandsOf(rest, ['-o', '-s', '--outfile', '--sort'])
  const out = rest.findIndex(arg => /^(-o|--outfile)/.test(arg.value))
  if (out >= 0) call.say('write.flag', 'HIGH', `${rest[out]?.text} writes a file`, rest[out])
  const inner = rest.findIndex(arg => arg.value === '-m')
  if (inner >= 0) return call.run([{ ...module, value: 'python3' }, ...rest.slice(inner)])
  if (script) judgeScriptFile(call, script)
  else call.say('code.module', 'MEDIUM', `the module ${module.text} runs`, module)
}
