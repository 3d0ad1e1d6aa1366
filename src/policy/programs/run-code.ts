import { resolve } from 'node:path'
import type { Risk } from '../../domain/session.ts'
import type { ProgramCall } from '../classify/call.ts'
import { findSpelled, isLog, wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { isTemporary, judgePath } from '../paths/judge-path.ts'
import { type Arg, deriveArg, isFlag } from '../shell/args.ts'
import { readOpenPython, standForOwn } from './open-code.ts'
import { dropKnown, readScript } from './open-script.ts'
import { isPlainPython, judgeEdits, judgeStrings, readPython } from './plain-code.ts'
import { judgeScriptSteps } from './step-names.ts'
import { judgeProgramText, takeOpenCalls } from './task-files.ts'

/** What a program text must not contain to pass without a person: code that deletes, writes, runs, sends, or hides something. */
const ALARMING: RegExp[] = [
  /\b(rm|rm_\w+|rmdir|rmtree|unlink\w*|remove\w*|delete\w*|truncate\w*|rmSync|shred|mkfs|chmod\w*|chown\w*|rename\w*|symlink\w*|link)\b\s*[('"]/i,
  /\b(rm|sudo|chmod|chown|dd|mkfs|curl|wget|nc|bash|sh|zsh)\b\s+-?\w/,
  /\b(os\.system|subprocess|popen\w*|Popen|pty|spawn\w*|exec\w*|execFile\w*|child_process|fork|syscall|system|shell_exec|passthru|proc_open|backtick|Open3|IO\.popen|%x|qx|Runtime|ProcessBuilder|os\.execute|os:cmd|System\.(cmd|shell)|sys\.process|Process\(|io\.popen|System\.Process|shellout|Kernel|ctypes|cffi|ffi|dlopen|Deno\.(run|Command|remove\w*|write\w*)|Bun\.(spawn|write|\$))\b|`[^`]*\b(rm|curl|sh|id|cat)\b/,
  /\b(eval|__import__|importlib|getattr|globals|Function|runInNewContext|loadstring|instance_eval|class_eval|const_get|fromCharCode|atob|b64decode|base64|unhexlify|marshal|pickle|codecs|\\x[0-9a-f]{2})\b/i,
  /(?<!json\.|JSON\.|safe_)\bload\s*\(|(?<!\bre\.)\bcompile\s*\(|['"](node:)?vm['"]/,
  /\b(write\w*|appendFile\w*|createWriteStream|copyFile\w*|shutil|mkdir\w*|makedirs|dump|to_csv|fopen|fwrite|file_put_contents|File\.write|IO\.write|open)\b\s*\(?[^)]*['"][wa+x]b?\+?['"]/,
  /\b(writeFile\w*|appendFile\w*|createWriteStream|copyFile\w*|copytree|copyfile|move|shutil|file_put_contents|fwrite|write_text|write_bytes|unlink|cpSync|cp|mkdirSync|outputFile\w*)\b/,
  /\b(socket|urllib|urlopen|requests|http|https|httpx|fetch|XMLHttpRequest|net|ftplib|smtplib|telnetlib|paramiko|Net::|LWP|IO::Socket|TCPSocket|open-uri|curl_exec|axios|dgram|dns|WebSocket|aiohttp|Foundation)\b/,
  /\b(environ|getenv|process\.env(?!\.(NODE_ENV|HOME|PATH|CI|USER|PWD|SHELL|LANG|PORT|TERM)\b)|ENV|%ENV|\$ENV|Deno\.env|os\.Getenv|_ENV)\b/,
  /\b(kill\w*|exit_group|signal|abort|setuid|setgid|chroot|mount|reboot|process\.(kill|binding|dlopen))\b\s*\(/,
  /\.(env|ssh|aws|pem|npmrc|netrc|git-credentials)\b|id_rsa|\/etc\/(passwd|shadow|sudoers|hosts)|\/proc\/|\/dev\/(sd|tcp|nvme)/,
]

/** Judges program text from the command line or standard input: never LOW, and HIGH if it does more than compute. */
export function judgeInline(given: ProgramCall, whole: Arg): undefined {
  if (!whole.known)
    return given.say('code.unknown', 'HIGH', 'part of the program text is known only when it runs', whole)
  const { call, code } = PYTHON.test(given.name) ? takeOpenCalls(given, whole) : { call: given, code: whole }
  if (PRINTS_A_TEXT.test(code.value) || PRINTS_A_VERSION.test(code.value) || DECODES_A_TEXT.test(code.value))
    return call.say('code.plain', 'MEDIUM', `a program for ${call.name} that prints a text`, code)
  const computes = COMPUTING.test(call.name) && onlyComputes(call.name, code.value)
  // In a text that only computes, the words of a command are a string.
  const shapes = [...ALARMING.filter((_, index) => !(computes && index === COMMAND_WORDS)), FOREIGN]
  if (isPlain(call, code)) {
    judgeStrings(call, code)
    return call.say('code.plain', 'MEDIUM', `a short program for ${call.name} that computes and prints`, code)
  }
  if (
    PYTHON.test(call.name) &&
    !ALARMING.some((shape, at) => !WRITES.has(at) && shape.test(code.value)) &&
    judgeEdits(call, code)
  )
    return
  const open = judgeOpenly(call, code)
  if (open === 'plain' || (open === 'open' && computes))
    return call.say('code.plain', 'MEDIUM', `a short program for ${call.name} that computes and prints`, code)
  if (open === 'open')
    return call.hold('code.inline', 'MEDIUM', `a program text for ${call.name} that says openly what it does`, code)
  const hit = shapes.map(shape => shape.exec(code.value)).find(match => match !== null)
  if (hit)
    return call.say('code.alarming', 'HIGH', `the program text holds ${JSON.stringify(hit[0].slice(0, 40))}`, code)
  if (computes) judgeStrings(call, code)
  if (computes)
    return call.say('code.plain', 'MEDIUM', `a short program for ${call.name} that computes and prints`, code)
  call.say('code.inline', 'MEDIUM', `a program text for ${call.name}`, code)
}

/** Whether a text says openly what it does, and nothing of it is alarming. */
function judgeOpenly(call: ProgramCall, code: Arg): 'plain' | 'open' | undefined {
  const python = PYTHON.test(call.name) ? readOpenPython(call, code) : undefined
  const script = /^(node|nodejs|bun|tsx|ts-node|deno)$/.test(call.name) ? readScript(call, code) : undefined
  const language = LANGUAGES[call.name] ?? ''
  const other = python || script ? undefined : standForOwn(call, language, code.value, WORDS[language])
  const text = python?.text.replace(/\bfunction\b/g, ' ') ?? (script ? dropKnown(code.value) : other)
  if (text === undefined || FOREIGN.test(text)) return undefined
  // Words of a command are a string, unless code of the project could run them.
  const isAlone = script !== undefined && !/["'`]\.\//.test(text)
  if (ALARMING.some((shape, at) => !(isAlone && at === COMMAND_WORDS) && shape.test(text))) return undefined
  if (other !== undefined) judgeStrings(call, code)
  if (other !== undefined) return isPlainText(language, other) ? 'open' : undefined
  return script ?? python?.is
}

/** Languages whose words are in `PLAIN`. In another one a plain word may do anything. */
const COMPUTING = /^(python|pypy|py$|ipython)/

/** Whether a text only computes and prints, by the modules and the names in it. */
function isPlain(call: ProgramCall, code: Arg): boolean {
  const value = /^(py|ipython|ruby)/.test(call.name) ? code.value.replace(COLUMN, "'x'") : code.value
  if (ALARMING.some((shape, at) => at !== LOADS_CODE && shape.test(value))) return false
  return PYTHON.test(call.name) ? isPlainPython(call, code) : isPlainText(LANGUAGES[call.name] ?? '', value)
}

/** A column of a table that is called like a module: `row['net']`. */
const COLUMN = /(?<=\b[a-z]\w?\s*\[\s*)(['"])(net|link|move|dump|fetch|https?|requests|signal)\1(?=\s*\])/g

/** Places in `ALARMING`: what loads code, and what writes files. */
const LOADS_CODE = 4
const WRITES = new Set([4, 5, 6])

const PYTHON = /^(python|pypy|py$|ipython)/
const JAVASCRIPT = /^(node|bun|tsx|ts-node|nodejs)$/
const LANGUAGES: Record<string, string | undefined> = {
  ...{
    ruby: 'ruby',
    rails: 'rails',
    'bin/rails': 'rails',
    php: 'php',
    artisan: 'artisan',
    mix: 'elixir',
    elixir: 'elixir',
  },
}

/** Names of other languages in texts that only compute and print, besides names of a single letter. */
const WORDS: Record<string, Set<string>> = {
  ruby: new Set(
    `puts p pp print require json yaml csv set date time JSON YAML CSV File read parse safe_load dig keys values map select reject
     sort sort_by uniq first last count size length sum min max join split each each_with_index each_with_object to_s to_i to_f to_a
     to_h to_sym inspect name key values_at fetch include any all none group_by tally zip flatten compact reverse upcase downcase strip gsub
     sub match scan transform_values filter_map sum minmax_by max_by min_by sort_by! foreach symbol round Float Integer Date Time now today strftime Set nil true false if else unless end do in then and or not RUBY_VERSION`.split(
      /\s+/,
    ),
  ),
  php: new Set(
    `echo print print_r var_dump var_export count strlen strtoupper strtolower implode explode json_encode json_decode phpversion date time
     PHP_VERSION PHP_EOL PHP_OS PHP_OS_FAMILY PHP_INT_MAX PHP_INT_SIZE extension_loaded array_keys array_values array_sum range max min round
     true false null str_repeat ucfirst trim number_format intdiv`.split(/\s+/),
  ),
  elixir: new Set(
    `IO inspect puts Enum sum map filter reduce count sort sort_by max min join into zip uniq reverse take drop range String upcase downcase split
     length Map keys values get put List first last Integer to_string parse Float round div rem fn end do if else true false nil and or not`.split(
      /\s+/,
    ),
  ),
}

/** One number about a model: `puts Order.where(status: :open).count`, `echo App\Models\User::count();`. */
const COUNTS: Record<string, RegExp | undefined> = {
  rails:
    /^\s*(puts|p|pp)\s*\(?\s*[A-Z]\w*(::[A-Z]\w*)*(\.where\(\w+: (:\w+|\d+|true|false|nil|["'][\w ]*["'])\))?\.(count|column_names|table_name|columns\.map\(&:name\))\s*\)?\s*;?\s*$/,
  artisan: /^\s*echo\s+\\?App\\Models\\\w+::count\(\)\s*;?\s*$/,
}

/** Whether a program text of another language only computes and prints. */
function isPlainText(language: string, text: string): boolean {
  if (COUNTS[language]) return COUNTS[language].test(text)
  const words = WORDS[language]
  if (words === undefined || text.length > 600) return false
  // What stands outside of strings cannot begin a string of another kind, run a text, name a variable of the language or call a value.
  const bare = text.replace(/'[^'\\\n]*'|"(?:[^"\\$#\n]|\\[nt])*"/g, ' 0 ')
  if (!/^(?:[\w\s.(){}|,;[\]+*<>=!&:-]|[a-z]\?(?=[ (){};,.]))*$/.test(bare) || /<<|&(?!:[a-z_]+\b)/.test(bare))
    return false
  if (language === 'php' && /->|::|[|&]|[\])]\s*\(|\b0\s*\(/.test(bare)) return false
  if (language === 'elixir' && /:/.test(bare)) return false
  // What is required is of the language itself, and a file is read only by its plain name.
  if (/\brequire\b(?!\s*\(?\s*["'](json|yaml|csv|set|date|time|pp)["'])/.test(text)) return false
  if (
    /\b(read|foreach)\b(?!\s*\(\s*["'][\w-][\w/-]*(\.[\w-]+)*["']\s*(,\s*(headers|header_converters|converters|col_sep):\s*(true|:\w+|["'][,;|]["'])\s*)*\))/.test(
      text,
    )
  )
    return false
  const names = bare.replace(/(?<=[{(,]\s*)\w+:(?!:)/g, ' ').match(/[A-Za-z_]\w*/g) ?? []
  return names.every(name => words.has(name) || /^([a-z]|_[12]|it)$/.test(name))
}

const COMMAND_WORDS = 1
/** One call that prints one literal without interpolation. */
const PRINTS_A_TEXT =
  /^\s*(console\.log|print|puts|echo|say|println!?)\s*\(?\s*(['"])[^'"\\$`#@{]*\2\s*\)?\s*;?\s*$|^\s*print\s*\([\d\s.+*/%()-]+\)\s*;?\s*$/

/** One text in the code itself, printed in another form: base64, hexadecimal or plain. */
const DECODES_A_TEXT = new RegExp(
  ['console\\.log\\(X\\)', 'X', 'process\\.stdout\\.write\\(X\\)']
    .map(whole =>
      whole.replace(
        'X',
        `(Buffer\\.from\\(\\s*(["'])[\\w+/=. @:-]*["']\\s*(,\\s*["'](base64|base64url|hex|utf-?8)["']\\s*)?\\)\\.toString\\(\\s*(["'](utf-?8|ascii|latin1|hex|base64|base64url)["'])?\\s*\\)|(atob|btoa)\\(\\s*["'][\\w+/=. @:-]*["']\\s*\\))`,
      ),
    )
    .concat(
      `import base64\\s*;\\s*print\\(base64\\.(b64decode|b64encode|urlsafe_b64decode)\\(\\s*b?["'][\\w+/=. @:-]*["']\\s*\\)(\\.decode\\(\\s*(["']utf-?8["'])?\\s*\\))?\\)`,
    )
    .map(shape => `^\\s*${shape}\\s*;?\\s*$`)
    .join('|'),
)

/** Python that prints which version of a package is installed. */
const PRINTS_A_VERSION =
  /^\s*import (\w+(?:\.\w+)*)\s*;\s*print\(\s*\1(\.\w+)*\.__(version|file)__\s*(,\s*\1\.\w+\.is_available\(\)\s*)*\)\s*$/

/** Code that is loaded from outside of the project or from the text itself. */
const FOREIGN =
  /\b(require|require_once|include|include_once|import|from|do|dofile|use|load|require_relative|source)\b\s*\(?\s*["'](\/|~|\.\.\/|data:|https?:|file:)/

/** A text counts as only computing and printing if every name in it is one of these. */
const PLAIN = new Set(
  'print printf println puts p pp console log error info table echo say len range str int float bool list dict set tuple sorted sort reverse reversed sum min max map filter reduce zip enumerate any all abs round join split strip trim replace match test index indexOf includes startsWith endsWith upper lower toUpperCase toLowerCase slice substring push pop keys values items entries get has length size format repr type isinstance typeof import from as json sys stdin read readline readlines load loads dumps parse stringify JSON Object Array Math String Number Date now Boolean RegExp require open encoding version name package tsconfig dependencies devDependencies scripts main platform argv math re os path pathlib collections Counter datetime time fs readFileSync utf8 statistics for in of if else elif while not and or is None True False null undefined true false let const var function return lambda def end do then new this self x y z i j k n v a b c d e f s t r l m data obj line lines res result key value item file count total sqrt floor ceil pow toFixed forEach find some every flat flatMap fill BEGIN END NF NR FNR FS OFS RS ORS RSTART RLENGTH substr gsub sub tolower toupper getline next delete exit process memoryUsage versions node v8 arch uptime hrtime toISOString toString getTime toLocaleString padStart padEnd concat trimStart trimEnd isInteger isNaN parseInt parseFloat trunc random log2 log10 sign hypot lastIndexOf charAt codePointAt normalize localeCompare toJSON getFullYear getMonth getDate getHours fromEntries UTC Intl NumberFormat DateTimeFormat RelativeTimeFormat PluralRules formatToParts toLocaleDateString toLocaleTimeString getUTCFullYear getUTCMonth getUTCDate getDay getMinutes getSeconds Map Set BigInt isArray assign reduceRight findIndex findLast at toSorted toReversed'.split(
    ' ',
  ),
)

const OPENS = /\bopen\b/
/** A file of the project that is read by its plain name. */
const OPENS_TO_READ =
  /\bopen\s*\(\s*(['"])\w[\w/-]*(\.[\w/-]+)*\1\s*(,\s*['"]r[bt]?['"]\s*)?(,\s*encoding\s*=\s*['"][\w-]+['"]\s*)?\)/g

function onlyComputes(program: string, code: string): boolean {
  if (code.length > 600 || /__(?!(main|version|name|file)__)/.test(code) || OPENS.test(code.replace(OPENS_TO_READ, '')))
    return false
  // Concatenated strings may be the pieces of a name.
  if (/["'`]\s*(\+|\.\.|\.)\s*["'`]/.test(code)) return false
  // A format follows names, and of `os` only what it says about paths is harmless.
  const used = code.replace(/\bimport [\w, ]+/g, '')
  if (PYTHON.test(program) && /\.\s*format\b|\bos\b(?!\s*\.\s*path\b)|\bas\s/.test(used)) return false
  const bare = readPython(code.replace(OPENS_TO_READ, ' '))
  return (
    bare !== undefined && (bare.match(/[A-Za-z_]\w*/g) ?? []).every(word => PLAIN.has(word) || /^[a-z]$/i.test(word))
  )
}

/** Flags of tools with which they say where they write, and which mean something else in others. */
const INTO: Record<string, RegExp> = {
  ...{ ctags: /^-f$/, doxygen: /^-d$/, hugo: /^-d$/, jekyll: /^-d$/, mkdocs: /^-d$/, pdoc: /^-d$/ },
  ...{ javac: /^-d$/, kotlinc: /^-d$/ },
}

/** Judges a file whose content runs: a file of the project is routine, any other is foreign code. */
export function judgeScriptFile(call: ProgramCall, file: Arg, own: Risk = 'MEDIUM'): undefined {
  if (!file.known || file.glob || file.value === '-' || file.value.includes('{found}'))
    return call.say('script.unknown', 'HIGH', `${file.text} is a program known only when it runs`, file)
  call.secret(file)
  if (/^[a-z]+:\/\//i.test(file.value))
    return call.say('net.run', 'HIGH', `${file.text} is code from the network`, file)
  const { cwd } = call.scope
  const place =
    cwd === undefined && !file.value.startsWith('/')
      ? undefined
      : locatePath(file.value, cwd ?? call.fence.boundary, call.fence)
  const spelled = findSpelled(file, call)
  if (spelled !== undefined && (PYTHON.test(call.name) || JAVASCRIPT.test(call.name)))
    return judgeInline(call, deriveArg(ownPaths(spelled, call), file))
  if (isPlainScratch(call, file))
    return call.hold('code.plain', 'MEDIUM', `${file.text} only computes and prints`, file)
  if (wasWritten(file, call))
    return call.say(
      'script.written',
      'HIGH',
      `${file.text} was written by the same command, and nobody has read it`,
      file,
    )
  if (place?.where === 'inside') {
    judgeScriptSteps(call, file)
    judgeProgramText(call, file)
  }
  if (place?.where === 'inside')
    return call.say('script.project', own, `${file.text} is a program of the project`, file)
  call.say('script.foreign', 'HIGH', `${file.text} is a program outside the project`, file)
}

/** A script in another folder names files of the project in full. */
function ownPaths(text: string, { fence }: ProgramCall): string {
  return text.replaceAll(new RegExp(`(["'])${RegExp.escape(fence.boundary)}/(?=[\\w.])`, 'g'), '$1./')
}

/** Whether a file in /tmp is one that the same command spells out, in C or Go, and that only computes and prints. */
function isPlainScratch(call: ProgramCall, file: Arg): boolean {
  const path = resolve(call.scope.cwd ?? '/', file.value)
  const spelled = file.known && isTemporary(path, call.fence) ? findSpelled(file, call) : undefined
  return spelled !== undefined && isPlainCompiled(file.value, spelled)
}

/** Judges a file that a shell reads: what its lines do counts as if they had been typed. */
export function judgeShellScript(call: ProgramCall, file: Arg): undefined {
  const spelled = findSpelled(file, call)
  if (spelled !== undefined) return call.shell(deriveArg(spelled, file))
  judgeScriptFile(call, file)
  if (!file.known || file.glob || call.scope.cwd === undefined) return
  const place = locatePath(file.value, call.scope.cwd, call.fence)
  if (place.where === 'inside') call.script(place.path, file)
}

/** Whether a program's input was fetched from the network in the same pipe. */
export function comesFromNetwork(call: ProgramCall): boolean {
  return (call.feed.upstream ?? []).some(({ words }) =>
    words.some(word => /^(\/usr\/bin\/)?(curl|wget|http|https|xh|aria2c|nc|ncat|socat|ssh|ftp|lynx)$/.test(word.value)),
  )
}

/** Judges the words of a tool that runs the project's code: whatever they name outside of the project is foreign. */
export function judgeToolWords(call: ProgramCall, args: readonly Arg[]): undefined {
  const onlyLooks = LOOKERS.test(call.name) || call.args.some(arg => LOOKS.test(arg.value))
  for (const arg of args) {
    const word = findPathValue(arg)
    if (word === undefined) continue
    if (!arg.known) {
      call.unknown(arg)
      continue
    }
    if (word.value.startsWith('@') && /^@[\w./-]+$/.test(word.value) && !word.value.includes('/'))
      call.hold('tool.flag', 'MEDIUM', `${arg.text} may be a file with more words`, arg)
    if (/^[a-z][a-z+]*:\/\//i.test(word.value)) {
      if (!LOCAL_ADDRESS.test(word.value)) call.say('net.address', 'MEDIUM', `${arg.text} is an address`, arg)
    } else if (looksOutside(word.value)) judgeOutside(call, word)
    call.secret(word)
    if (!onlyLooks) judgeSteering(call, word)
  }
}

/** An address on this machine. */
const LOCAL_ADDRESS =
  /^(https?|wss?|postgres(ql)?|mysql|redis|mongodb|amqp):\/\/([\w-]+(:[\w-]*)?@)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?([/?].*)?$/i

/** Tools that change none of the files that they are given, and flags with which others do not. */
const LOOKERS = /^(shellcheck|hadolint|actionlint|yamllint|kubeconform|kubeval)$/
const LOOKS = /^(--check|-c|-l|--list-different|--noEmit|--diff|--dry-run|--fix-dry-run|-n)$/

/** An operand, the value after `=`, or a path that is attached to a letter (`-c/tmp/x`). */
function findPathValue(arg: Arg): Arg | undefined {
  if (!isFlag(arg)) return arg
  const equals = arg.value.indexOf('=')
  if (equals >= 0) return { ...arg, value: arg.value.slice(equals + 1) }
  const glued = /^-[A-Za-z]+?((?:[/~]|\.{1,2}\/).*)$/s.exec(arg.value)?.[1]
  return glued === undefined ? undefined : { ...arg, value: glued }
}

/** Whether a word is the file that `-o` names. */
function isOutput({ args }: ProgramCall, { at }: Arg): boolean {
  const place = args.findIndex(arg => arg.at === at)
  return /^-o/.test(args[place]?.value ?? '') || args[place - 1]?.value === '-o'
}

/** Most tools can write the files that their words name. They must not touch files that steer the agent, git or a shell. */
function judgeSteering(call: ProgramCall, arg: Arg): undefined {
  const { cwd } = call.scope
  if (!/(^|[/:])\.[a-z]/i.test(arg.value) || cwd === undefined) return
  const reason = judgePath(arg.value.replace(/^.*:(?=\.)/, ''), 'write', { cwd, fence: call.fence })
  // What others run by its name, made by a compiler.
  if (reason.code === 'path.runs' && isOutput(call, arg)) call.say(reason.code, reason.risk, reason.text, arg)
  if (reason.risk === 'HIGH' && /^path\.(guard|git|startup|hook|tool-config)$/.test(reason.code))
    call.say(reason.code, 'HIGH', reason.text, arg)
}

function looksOutside(value: string): boolean {
  return (/^@?[/~]|[:,=@"'][/~]/.test(value) && !LABEL.test(value)) || value.split('/').includes('..')
}

/** `//pkg:target` is how some build tools name their targets. */
const LABEL = /^@?[\w.-]*\/\/[\w./-]*(:[\w./*-]+)?(\/?\.\.\.)?$/

function judgeOutside(call: ProgramCall, arg: Arg): undefined {
  if (arg.value === '/dev/null' || arg.value === '/') {
    if (arg.value === '/') call.say('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
    return
  }
  const { cwd } = call.scope
  // The path may come after something else: `xml:/etc/x`, `@/tmp/args`, `{"rootDir":"/tmp"}`.
  const path = arg.value.replace(/^.*?[:,=@"'](?=[/~])/s, '').replace(/["'}\],].*$/s, '')
  const place = cwd === undefined ? undefined : locatePath(path, cwd, call.fence)
  if (place?.where === 'inside') return
  const isOwn = place?.where === 'outside' && isTemporary(place.path, call.fence) && isReport(call, arg)
  if (isPlainScratch(call, arg)) return call.hold('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
  const isKept = isOwn && isLog({ ...arg, value: path }, { fence: call.fence })
  call[isKept ? 'settle' : isOwn ? 'hold' : 'say']('tool.outside', 'MEDIUM', `${arg.text} is outside the project`, arg)
}

/** Whether a word is the file that a flag for a report names. */
function isReport({ name, args }: ProgramCall, { text, at }: Arg): boolean {
  if (name === 'go' && args[1]?.value === 'cover' && /^-(func|html)=\/tmp\/[\w.-]+\.out$/.test(text)) return true
  const before = args[args.findIndex(arg => arg.at === at) - 1]?.text ?? ''
  if (Object.hasOwn(INTO, name) && INTO[name]?.test(before)) return true
  return [text, before].some(flag =>
    /^--?(o|[\w-]*(out(?!er)|report(?!er)|log(?!in)|prof|cover|junit|trace)[\w-]*|(json|stats|stats-json|sarif|tap|dump|save-?to|site-?dir)(-(file|path))?)(=|$)|^--file=\/tmp\/[\w-]+\.(json|html|svg|dot)$/i.test(
      flag,
    ),
  )
}

/** Headers and packages with which a program can only compute and print, and names in them that do more. */
const COMPILED: [ending: RegExp, loads: RegExp, allowed: RegExp, reaching: RegExp][] = [
  [
    /\.(c|cc|cpp|cxx)$/,
    /^\s*#\s*include\s*(.*)$/gm,
    /^<(stdio|stdlib|string|math|stdint|stdbool|stddef|limits|float|ctype|time|assert|inttypes|errno|complex|iostream|iomanip|sstream|vector|string|map|set|algorithm|numeric|cmath|cstdio|cstdint|cstring|cstdlib|utility|memory|array|optional|chrono|functional|limits|type_traits)(\.h)?>$/,
    /\b(system|exec\w*|popen|_popen|fork|vfork|clone|f?d?re?open\w*|fopen|open|creat|remove|unlink\w*|rename\w*|rmdir|mkdir|tmpfile|socket|connect|dlopen|dlsym|syscall|asm|__asm\w*|__attribute__|__builtin\w*|getenv|environ|setenv|kill|raise|mmap|ptrace|fwrite|fstream|ofstream|ifstream|filesystem|thread|extern|envp)\b|##|%:|^\s*#\s*(?!include)|\\u|\?\?|\(\s*\*/m,
  ],
  [
    /\.go$/,
    /^\s*(?:import\s+)?("[^"\n]+")\s*$/gm,
    /^"(fmt|strings|strconv|math|math\/(rand|rand\/v2|big|bits|cmplx)|sort|slices|maps|cmp|time|errors|unicode|unicode\/utf8|bytes|regexp|sync|sync\/atomic|context|encoding\/(json|hex|base64|csv|binary)|container\/\w+|text\/tabwriter|iter|hash\/\w+|crypto\/(sha256|md5|sha1))"$/,
    /\b(unsafe|syscall|exec|linkname|cgo|embed|os)\b|\/\/go:|import\s+"C"/,
  ],
]

/** Whether a program in C or Go only computes and prints. */
function isPlainCompiled(path: string, text: string): boolean {
  const [, loads, allowed, reaching] = COMPILED.find(([ending]) => ending.test(path)) ?? []
  if (!loads || !allowed || !reaching || text.length > 4_000 || reaching.test(text)) return false
  // Of Go only imports with one package in each line are read.
  const left = text.replace(/^import\s+"[^"\n]+"[ \t]*$|^import\s*\([ \t]*\n(\s*"[^"\n]+"[ \t]*\n)*\s*\)/gm, '')
  if (/\.go$/.test(path) && /\bimport\b/.test(left)) return false
  return [...text.matchAll(loads)].every(([, name = '']) => allowed.test(name.trim()))
}
