import type { ProgramCall } from '../classify/call.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { judgeStrings, MEMBERS, readsPlainly, spellNames } from './plain-code.ts'
import { isDeed } from './step-names.ts'

// Program texts that say openly what they do: what hides a name in any language, and the texts in Python, Ruby, PHP and Elixir that may be left to a
// sandbox. An agent may keep such a text in a file of the project and run it.

/** What hides a name, or takes one from a list that the text does not show. It counts in strings and in comments too. */
const HIDES =
  /\b(eval|exec\w*|\w*Function|getattr\w*|setattr|delattr|globalThis|importlib|runpy|pkgutil|builtins|chr|unichr|fromCharCode|fromCodePoint|\w*b64\w*|\w*base64\w*|atob|btoa|codecs|rot_?13|\w*hexlify|fromhex|unescape|decodeURI\w*|TextDecoder|constructor|prototype|__proto__|dlopen|createRequire|_load|mainModule|getBuiltinModule|getOwnProperty\w*|getPrototypeOf|setPrototypeOf|definePropert\w*|worker_threads|wasi|WebAssembly|attrgetter|methodcaller)\b|\\(x[0-9a-f]|u[0-9a-f{]|N\{|[0-7]{2})/i

/** Names that do harm, also as a part of another word and also put together from strings. */
const DEEDS =
  /rmsync|rmdir|rmtree|child_process|execsync|execfile|spawn|unlink|writefile|appendfile|copyfile|cpsync|rename|truncat|chmod|chown|symlink|mkdtemp|createwrite|opensync|subprocess|popen|os\.system|shutil|constructor|__import__|getattr|globalthis|fromcharcode|process\.env\b(?!\.(NODE_ENV|CI|PORT)\b)|environ|(?<!process)\.env\b|\.ssh|\.aws|\.pem|id_rsa|\/proc|\/etc|(drop|truncate|alter)\s+(table|database|schema)|delete\s+from|insert\s+into|update\s+\w{1,40}\s+set/i

/** Whether a text, or its strings put together, holds a name that does harm or hides one. */
export function isAlarming(text: string, strings: readonly string[]): boolean {
  const whole = strings.join('')
  const forms = [whole, whole.split('').reverse().join(''), strings.toReversed().join('')]
  return (
    HIDES.test(text.replace(/\bfunction\b/g, ' ')) ||
    [text, text.replaceAll('\\', ''), ...forms].some(one => DEEDS.test(one) || HIDDEN.test(one))
  )
}
const HIDDEN = /constructor|fromcharcode|__proto__/i

/** An address of this machine, with a plain path. */
export const LOCAL_ADDRESS = /(["'`])https?:\/\/(?:localhost|127\.0\.0\.1):\d{4,5}(?:\/[\w/.-]*)?(?=\1)/g

/** Folders with what people keep and git does not. */
export const KEPT =
  /(^|\/)(certs?|keys?|private|secrets?|credentials?|data|backups?|uploads|\.\w+|config|tmp|home|root|etc)(\/|$)/i

/** Files that do something when they are loaded, or that hold what nobody else should see. */
export const RUNS_AT_ONCE =
  /(^|\/)(scripts?|bin|tools?|tasks?|jobs?|migrations?|cli|server|index\.[cm]?[jt]sx?|main|worker|app|env|config|settings|secrets?|credentials?)(\/|\.|$)|\/[^/]*(drop|delete|remove|destroy|purge|truncate|deploy|publish|migrat|seed|flush|wipe|send|mail|charge|reset|clean)[^/]*$/i

/**
 * A text that says openly what it does, with any member that is not known to do more: an agent may keep the same text in a file and run it. What it asks
 * of git, of a database that it only reads and of a server on this machine is judged too, and is left out of what comes back.
 */
export function readOpenPython(call: ProgramCall, code: Arg): { text: string; is: 'plain' | 'open' } | undefined {
  if (code.value.length > 4_000) return undefined
  const text = dropQueries(call, code, spellNames(code.value))
  const strings = [...text.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/g)].map(
    ([, one, two]) => one ?? two ?? '',
  )
  if (
    isAlarming(text, strings) ||
    /\]\s*\(|\)\s*\(|['"]\s*\(|\.\s*replace\b.*\bPath\b|\bPath\b.*\.\s*replace\b/.test(
      text.replace(PLAIN_STRING, (whole, prefix?: string) => (/f/i.test(prefix ?? 'f') ? whole : "''")),
    )
  )
    return undefined
  const isPlain = !/\bredis\b/.test(code.value) && readsPlainly(call, code, text, name => MEMBERS.has(name))
  const isNear =
    !LISTS_MEMBERS.test(text) && [...text.matchAll(/\bsys\s*\.\s*(\w+)/g)].every(([, name = '']) => OF_SYS.test(name))
  if (!isPlain && !(isNear && readsPlainly(call, code, text, name => MEMBERS.has(name) || !REACHES.test(name))))
    return undefined
  judgeStrings(call, deriveArg(text, code))
  return { text, is: isPlain ? 'plain' : 'open' }
}

/** A string with its prefix, or a comment, in which a quote begins nothing. */
const PLAIN_STRING =
  /#[^\n]*|(?<!\w)([A-Za-z]*)(?:'''(?:[^\\]|\\[\s\S])*?'''|"""(?:[^\\]|\\[\s\S])*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g

/** Modules that lead to others by what they look at, or that call what is named by a string. */
const LISTS_MEMBERS =
  /\b(inspect|dis|operator|typing|traceback|warnings|pandas|numpy|pydantic|jsonschema|attrs?|pprint|copy|sys\s+as)\b/
const OF_SYS =
  /^(argv|exit|stdin|stdout|stderr|path|version|version_info|executable|getsizeof|maxsize|platform|byteorder|getrecursionlimit|implementation|float_info|int_info)$/

/** Members that lead to other modules, call by a name, write, or change something elsewhere. */
const REACHES =
  /^(_\w*|os|sys|io|builtins|modules|subprocess|shutil|socket|codecs|posix|ctypes|types|threading|multiprocessing|importlib|loader|[a-z]{1,2}_(frame|code|globals|back|builtins|locals)|mro|func_\w+|get_type_hints|ForwardRef|make_dataclass|getmembers|run\w*|call\w*|system|eval|query|exec|exec[vl]\w*|executescript|executemany|save\w*|dump_\w+|to_(?!dict|list|datetime|numpy|records|frame)\w*|read_\w+|\w*load\w*|tofile|memmap|fromfile|genfromtxt|touch|chmod|mkdir|makedirs|rmdir|unlink|rename|symlink_to|hardlink_to|write\w*|\w*open\w*|\w*flush\w+|drop\w*|delete\w*|remove_\w+|destroy\w*|purge\w*|truncate\w*|deploy\w*|publish\w*|send\w*|post|put|patch|request\w*|connect\w*|mail\w*|notify\w*|charge\w*|refund\w*|pay|migrate\w*|seed_\w+|reset_(?!index)\w*|wipe\w*|kill\w*|upload\w*|revoke\w*|cancel\w*|config_\w+|slaveof|replicaof|shutdown|\w*expire\w*|ltrim|swapdb|getdel|failover|(acl|module|client|debug|cluster)_\w+|monitor|script_\w+|register_\w+|restore|bgsave|move|commit|\w*trace|\w*hook|basicConfig|\w*Handler|getenv|putenv|walk_packages|chdir|get_field|v?format_?(map|field)?|vformat|Formatter|agg|aggregate|apply\w*|transform|pipe|settings|config|secrets?|tokens?|environ|passwords?)$/

const LIST = `\\[\\s*((?:'[^'\\\\\\n]*'|"[^"\\\\\\n]*")(?:\\s*,\\s*(?:'[^'\\\\\\n]*'|"[^"\\\\\\n]*"))*)\\s*,?\\s*\\]`
const ASKS_GIT = new RegExp(
  `\\bsubprocess\\.(?:check_output|run)\\(\\s*${LIST}\\s*(?:,\\s*(?:text|capture_output|check|universal_newlines)\\s*=\\s*True\\s*|,\\s*encoding\\s*=\\s*['"]utf-?8['"]\\s*)*\\)(?:\\.stdout)?(?:\\.(?:decode|strip)\\(\\))*((?:\\.split\\(\\)|\\.splitlines\\(\\)|\\.split\\(['"]\\\\n['"]\\))?)`,
  'g',
)

/** A walk over the files below a folder that is named. */
const WALKS =
  /\bfor\s+([A-Za-z_]\w{0,30})\s*,\s*(\w{1,30}\s*,\s*(\w{1,30}))\s+in\s+os\.walk\(\s*(['"][\w/-]+['"])\s*\)\s*:([^:]{0,100}?)\bfor\s+([A-Za-z_]\w{0,30})\s+in\s+(?:sorted\(\s*)?\3\s*\)?\s*:/g

/** The text without what it asks of git, of a database that it opens for reading only, of a server and a store on this machine, and of folders. */
function dropQueries(call: ProgramCall, code: Arg, text: string): string {
  const words = (list: string) =>
    [...list.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, one, two]) => deriveArg(one ?? two ?? '', code))
  const walked: RegExp[] = []
  let isRead = false
  const asked = text
    .replace(WALKS, (whole, root: string, names: string, _, top: string, middle: string, file: string) => {
      const folder = top.slice(1, -1)
      const isOnly = ![root, file].some(name => new RegExp(`(?<![.\\w])${name}\\s*=(?!=)|\\bas ${name}\\b`).test(text))
      const isBound = [root, file].every(
        name =>
          text.match(new RegExp(`\\bfor\\b[\\w\\s,()]{0,60}?(?<!\\w)${name}\\b[\\w\\s,()]{0,60}?\\bin\\b`, 'g'))
            ?.length === 1,
      )
      if (!isOnly || !isBound || KEPT.test(folder) || !/^[A-Za-z]/.test(folder)) return whole
      walked.push(new RegExp(`\\bos\\.path\\.join\\(\\s*${root}\\s*,\\s*${file}\\s*\\)`, 'g'))
      call.secret(deriveArg(folder, code))
      return `for ${root}, ${names} in []:${middle}for ${file} in []:`
    })
    .replace(ASKS_GIT, (whole, list: string, split: string) => {
      const argv = words(list)
      const [program, verb, ...patterns] = argv.map(({ value }) => value)
      if (
        program !== 'git' ||
        !/^(ls-files|log|show|diff|status|rev-parse|rev-list|blame|shortlog|describe)$/.test(verb ?? '')
      )
        return whole
      call.run(argv)
      const isListed =
        verb === 'ls-files' &&
        split !== '' &&
        patterns.length > 0 &&
        patterns.every(one => /^[\w*./-]*\.\w+$/.test(one))
      return isListed ? patterns.map(one => `glob.glob('${one}')`).join(' + ') : `''${split}`
    })
    .replace(
      /\b(?:urllib\.request\.urlopen|requests\.get)\(\s*((['"])https?:[^'"\n]*\2)\s*\)/g,
      (whole, quoted: string) => {
        LOCAL_ADDRESS.lastIndex = 0
        if (!LOCAL_ADDRESS.test(quoted)) return whole
        call.run([deriveArg('curl', code), deriveArg(quoted.slice(1, -1), code)])
        return 'str()'
      },
    )
    .replace(
      /\bsqlite3\.connect\(\s*(['"])file:([\w-][\w./-]*)\?mode=ro\1\s*,\s*uri\s*=\s*True\s*\)/g,
      (whole, _, path: string) => {
        if (path.split('/').includes('..') || !onlySelects(text)) return whole
        call.path(deriveArg(path, code), 'read')
        isRead = true
        return 'str()'
      },
    )
    .replace(
      /\bredis\.(?:Strict)?Redis\(\s*(?:host\s*=\s*(['"])(?:localhost|127\.0\.0\.1)\1\s*,?\s*)?(?:(?:port|db)\s*=\s*\d+\s*,?\s*|decode_responses\s*=\s*True\s*,?\s*)*\)/g,
      'dict()',
    )
    .replace(/\bopen\(\s*(os\.path\.join\(\s*\w+\s*,\s*\w+\s*\))(?=\s*[,)])/g, (whole, joined: string) =>
      walked.some(shape => joined.replace(shape, '') === '') ? "open('f.txt'" : whole,
    )
    .replace(/\bos\.listdir\(\s*(['"])[A-Za-z][\w/-]*\1\s*\)|\bos\.sep\b/g, 'list()')
    .replace(
      /\bos\.path\.(?:join|basename|dirname|splitext|exists|isfile|isdir|getsize|relpath)\b|\bos\.(?:getcwd|cpu_count)(?=\(\))/g,
      'str',
    )
  return ['subprocess', 'sqlite3', 'redis', 'os', 'urllib', 'requests'].reduce(
    (left, module) => {
      const rest = left.replace(/\bimport [\w., ]+/g, ' ')
      const isUsed = new RegExp(`\\b${module}\\b`).test(rest)
      return isUsed
        ? left
        : left.replace(
            new RegExp(`(?<=\\bimport [\\w., ]*)\\b${module}(?:\\.request|\\.path)?(?=\\s*(?:[,;\\n]|$))`, 'g'),
            'json',
          )
    },
    isRead ? asked.replace(/\.\s*execute\(/g, '.get(') : asked,
  )
}

/** Whether every statement for a database is written out and only reads. */
function onlySelects(text: string): boolean {
  const statements = text.match(/\.\s*execute\w*\s*\(/g)?.length ?? 0
  const reading = text.match(
    /\.\s*execute\(\s*(['"]{1,3})\s*(select|with|explain|pragma\s+(table_info|table_list|index_list|user_version|foreign_key_list))\b(?:(?!\b(into|attach|load_extension|readfile|writefile|fts3_tokenizer|edit)\b)[^'"\\{}])*\1\s*[,)]/gi,
  )
  return statements === (reading?.length ?? 0)
}

/** How other languages load a file, where it may be, and what defines names in it. */
const LOADS: Record<string, { load: RegExp; names: RegExp; stand: string }> = {
  ruby: {
    load: /\brequire(?:_relative)?\s*\(?\s*(["'])((?:\.\/)?[\w-]+(?:\/[\w-]+)*)\1\s*\)?/g,
    names: /^\s*(?:module|class)\s+([A-Z]\w*)/gm,
    stand: 'JSON',
  },
  php: {
    load: /\b(?:require|include)(?:_once)?\s*\(?\s*(["'])((?:\.\/)?[\w-]+(?:\/[\w.-]+)*\.php)\1\s*\)?\s*;/g,
    names: /^\s*(?:(?:final|abstract|readonly)\s+)*(?:class|enum)\s+([A-Z]\w*)/gm,
    stand: 'count',
  },
  elixir: {
    load: /(?<![\w.])(())(?=[A-Z]\w*(?:\.[A-Z]\w*)*\.[a-z])/g,
    names: /^\s*defmodule\s+([A-Z][\w.]*)\s+do/gm,
    stand: 'Enum',
  },
}

/** A text of another language, in which names that files of the project define stand for names of the language that compute. */
export function standForOwn(
  call: ProgramCall,
  language: string,
  text: string,
  words?: ReadonlySet<string>,
): string | undefined {
  const { load, names, stand } = LOADS[language] ?? {}
  if (!load || !names || !stand || text.length > 600) return undefined
  const own: string[] = []
  let reads = 0
  const given = language === 'ruby' ? call.args.flatMap(({ value }) => /^-r([a-z][\w-]*)$/.exec(value)?.[1] ?? []) : []
  const whole = `${given.map(name => `require "${name}"; `).join('')}${text}`.replace(
    language === 'php' ? READS_ONE : SHOWS_METHOD,
    (found, _, file?: string) => {
      if (language === 'php' && file?.includes('..')) return found
      if (language === 'php') call.path(deriveArg(file ?? '', call.head), 'read')
      if (language === 'php') reads++
      return language === 'php' ? "'x'" : '.count'
    },
  )
  const left = whole.replace(load, (all, _, file: string, at: number) => {
    const [module = ''] = /^[A-Z][\w.]*(?=\.[a-z])/.exec(whole.slice(at)) ?? []
    const found = listOwnFiles(call, language, file === '' ? module : file).find(one => one !== undefined)
    if (found === undefined) return all
    own.push(...[...found.matchAll(names)].map(([, name = '']) => name))
    return ''
  })
  if (own.length + reads === 0 || own.some(name => REOPENED.test(name))) return undefined
  const dot = language === 'php' ? '(?:->|::)' : '\\.'
  return own
    .reduce(
      (rest, name) =>
        rest.replace(
          new RegExp(
            `(?:\\bnew\\s+)?(?<![\\w.$:])(?:\\\\?[A-Z]\\w*\\\\)*${RegExp.escape(name)}(?:::(?:${own.join('|')}))*(?![\\w:])`,
            'g',
          ),
          stand,
        ),
      left,
    )
    .replace(new RegExp(`${dot}\\s*([a-z_]\\w*)(?![\\w!])`, 'gi'), (whole, name: string) =>
      isDeed(name) || CALLS_BY_NAME.test(name) || words?.has(name) ? whole : '.count',
    )
    .replace(LOCAL_ADDRESS, '$1')
}

const READS_ONE = /\bfile_get_contents\(\s*(["'])([A-Za-z][\w-]*(?:\/[\w.-]+)*\.(?:json|csv|txt|md|xml|ya?ml))\1\s*\)/g
const SHOWS_METHOD = /\.method\(:(\w+)\)\.(?:parameters|arity|source_location|owner)\b/g

/** Methods that call others by their names, run a text, or change what is there. */
const CALLS_BY_NAME =
  /^(\w*send\w*|\w*method|\w*eval|\w*exec|system|spawn|fork|open\w*|popen|syscall|load\w*|require\w*|autoload|trap|exit|abort|binding|const_\w+|define_\w+|\w+_variable_\w+|alias_\w+|call\w*|to_proc|curry|bind\w*|unbind|apply|invoke\w*|set\w*|write\w*|put\w*|\w*unlink\w*|rename\w*|rm\w*|mkdir|chmod)$/i

/** Names of the languages themselves, which a file of the project may extend. */
const REOPENED =
  /^(File\w*|Dir|IO|Kernel|Object|BasicObject|Module|Class|Process|Net|Socket|Open3|Method|Proc|String|Array|Hash|Symbol|Integer|System|Code|Port|Node|Enum|Map|List|PDO|Reflection\w*|Closure)$/

/** The texts of the files that a name may stand for. */
function listOwnFiles(call: ProgramCall, language: string, name: string): (string | undefined)[] {
  const { cwd } = call.scope
  const folders = call.args.flatMap(({ value }) => /^-I\.?\/?([A-Za-z][\w/-]*)$/.exec(value)?.[1] ?? [])
  const snake = name
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, '_')
    .replaceAll('.', '/')
    .toLowerCase()
  const files =
    language === 'ruby'
      ? [`${name}.rb`, ...folders.map(folder => `${folder}/${name}.rb`)]
      : language === 'php'
        ? [name]
        : [`lib/${snake}.ex`]
  return files.map(file => {
    const place = cwd === undefined || file.includes('..') ? undefined : locatePath(file, cwd, call.fence)
    if (place?.where !== 'inside' || wasWritten({ value: file } as Arg, call) || RUNS_AT_ONCE.test(file))
      return undefined
    const found = call.fence.look?.(place.path)
    return found?.is === 'file' ? found.bytes.toString('latin1') : undefined
  })
}

/** A text in JavaScript, read. */
export interface CodeText {
  /** The text without comments; a string is its number in quotes, a template a bracket. */
  bare: string
  strings: string[]
}

/** Reads strings, templates, patterns and comments. `undefined` if it is not sure where one of them ends. */
export function scanScript(text: string): CodeText | undefined {
  const strings: string[] = []
  let bare = ''
  /** Open templates: how many brackets are open in the value that is read. */
  const open: number[] = []
  const keep = (value: string) => `"${strings.push(value) - 1}"`
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? ''
    const next = text[at + 1] ?? ''
    if (letter === '/' && (next === '/' || next === '*')) {
      const end = next === '/' ? text.indexOf('\n', at) : text.indexOf('*/', at + 2) + 1
      if (end <= 0 && next === '*') return undefined
      bare += ' '
      at = end < 0 ? text.length : next === '/' ? end - 1 : end
    } else if (letter === '"' || letter === "'") {
      const end = findQuote(text, at, letter)
      if (end === undefined) return undefined
      bare += keep(text.slice(at + 1, end))
      at = end
    } else if (letter === '`' || (letter === '}' && open.at(-1) === 0)) {
      if (letter === '`' && /[\w)\]]\s*$/.test(bare.slice(-3)) && !/\b(return|of|in|case)\s*$/.test(bare.slice(-9)))
        return undefined
      const end = findTemplate(text, at)
      if (end === undefined) return undefined
      bare += `${letter === '`' ? '(' : ')+'}${end === at + 1 ? '"e"' : keep(text.slice(at + 1, end))}`
      if (letter === '}') open.pop()
      if (text[end] === '$') {
        open.push(0)
        bare += '+('
      } else bare += ')'
      at = text[end] === '$' ? end + 1 : end
    } else if (letter === '/' && isPattern(bare)) {
      const end = findPattern(text, at)
      if (end === undefined) return undefined
      bare += '/0/'
      at = end
    } else if (
      letter === '/' &&
      /\/.*["'`]|["'`].*\//.test(text.slice(at + 1, at + 200).split('\n', 1)[0] ?? '') &&
      /[)}]\s*$/.test(bare.slice(-3))
    )
      return undefined
    else {
      const depth = open.length - 1
      if (depth >= 0 && letter === '{') open[depth] = (open[depth] ?? 0) + 1
      if (depth >= 0 && letter === '}') open[depth] = (open[depth] ?? 0) - 1
      bare += letter
    }
  }
  // Letters of other scripts and escapes can spell names.
  return open.length > 0 || /[^\t\n\r\x20-\x7e]|[\\#@]/.test(bare) ? undefined : { bare, strings }
}

function findQuote(text: string, start: number, quote: string): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n') return undefined
    else if (text[at] === quote) return at
  }
  return undefined
}

/** The end of a piece of a template: its quote, or the sign of a value in it. */
function findTemplate(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`' || (text[at] === '$' && text[at + 1] === '{')) return at
  }
  return undefined
}

function isPattern(bare: string): boolean {
  return /(^|[(,=:[!&|?{;+*%<>~^-]|\b(return|typeof|case|of|in))\s*$/.test(bare.slice(-12))
}

function findPattern(text: string, start: number): number | undefined {
  let inside = false
  for (let at = start + 1; at < text.length && text[at] !== '\n'; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '[') inside = true
    else if (text[at] === ']') inside = false
    else if (text[at] === '/' && !inside) {
      const [flags = ''] = /^[a-z]*/.exec(text.slice(at + 1, at + 9)) ?? []
      return at + flags.length
    }
  }
  return undefined
}
