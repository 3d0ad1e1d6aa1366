import type { ProgramCall } from '../classify/call.ts'
import { describeTarget, isOwnFile, noteWritten, staysInSandbox, wasWritten } from '../classify/judge-file.ts'
import { explainCode, explainWritten } from '../classify/written-text.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { isDeed } from './step-names.ts'

// Short program texts that only compute, read files of the project by their names and print. What a text can reach is decided by the modules
// that it loads, the members that it names and the built-in functions, so all of them are lists of what is allowed.

export const MODULES: ReadonlySet<string> = new Set(
  'json re math cmath sys tomllib csv ast dis textwrap itertools functools collections datetime time calendar decimal fractions statistics random string unicodedata struct zlib hashlib uuid platform pprint typing dataclasses enum numpy pandas yaml difflib pathlib operator bisect heapq html zoneinfo copy inspect abc contextlib hmac traceback warnings fnmatch shlex numbers graphlib cProfile pstats pydantic attr attrs dateutil tabulate jsonschema packaging tomli'.split(
    ' ',
  ),
)

/** Members of those modules and of the values that they make. None takes the name of a file, a function by its name, or code. */
export const MEMBERS: ReadonlySet<string> = new Set(
  `loads load dumps JSONDecodeError findall finditer search match fullmatch sub split compile escape group groups groupdict start end span
   I M S IGNORECASE MULTILINE DOTALL sqrt pi e sin cos tan atan atan2 asin acos exp log log2 log10 floor ceil pow gcd lcm factorial comb perm
   isclose isnan isinf inf nan hypot radians degrees prod trunc fsum version version_info major minor micro platform maxsize byteorder exit
   reader DictReader fieldnames parse walk literal_eval FunctionDef ClassDef dis dedent indent wrap fill shorten chain product permutations
   combinations groupby islice count cycle repeat accumulate zip_longest reduce lru_cache cache wraps Counter defaultdict OrderedDict namedtuple
   deque most_common date datetime timedelta timezone utc now today strftime strptime isoformat fromisoformat fromtimestamp utcfromtimestamp utcnow astimezone utcoffset tzinfo isocalendar isoweekday toordinal fromordinal combine timetuple timestamp year month day
   hour minute second weekday days seconds total_seconds time perf_counter monotonic monthrange isleap Decimal Fraction quantize mean median mode
   stdev pstdev variance randint choice choices random seed sample shuffle uniform gauss ascii_letters ascii_lowercase ascii_uppercase digits
   punctuation name category normalize pack unpack calcsize crc32 adler32 sha256 sha1 md5 sha512 blake2b hexdigest digest uuid4 uuid5 NAMESPACE_DNS
   python_version system machine release pprint pformat List Dict Optional Any Union dataclass field asdict Enum auto value safe_load
   safe_load_all unified_diff ndiff SequenceMatcher ratio get_close_matches itemgetter bisect_left bisect_right insort heappush heappop heapify
   nlargest nsmallest unescape ZoneInfo deepcopy stdin stdout stderr signature getdoc getsource parameters
   append extend insert pop items keys values get update setdefault add discard union intersection difference issubset sort reverse index
   join strip lstrip rstrip splitlines startswith endswith upper lower title capitalize replace find rfind rindex isdigit isalpha isalnum isspace zfill
   ljust rjust center partition rpartition encode decode hex bit_length is_integer real imag read readline readlines casefold removeprefix
   removesuffix maketrans translate
   lineno col_offset end_lineno body targets id args AsyncFunctionDef Import ImportFrom names module Call func attr get_docstring iter_child_nodes
   Constant Assign Name decorator_list bases returns annotation level unparse dump
   getroot iter findall findtext itertext attrib tag text argv url_patterns pattern get_backoff_time Profile enable disable Stats sort_stats print_stats strip_dirs
   Path read_text exists is_file is_dir stem suffix suffixes stat st_size st_mtime
   array asarray arange linspace zeros ones eye full reshape ravel flatten shape size ndim dtype T dot matmul linalg inv det eig eigvals norm solve
   sum min max std var argmin argmax argsort cumsum diff unique where concatenate stack vstack hstack transpose astype tolist item default_rng
   integers int8 int16 int32 int64 uint8 float32 float64 percentile quantile clip allclose isfinite abs round any all
   DataFrame Series read_csv read_json read_parquet head tail describe columns dtypes iloc loc isna isnull notna dropna fillna sort_values
   sort_index value_counts nunique reset_index set_index drop_duplicates duplicated corr to_dict to_list to_datetime`.split(
    /\s+/,
  ),
)

/** Built-in functions of Python that reach further than their arguments, and `type`, which makes another path of a path. */
const BUILT_IN =
  /^(aiter|anext|breakpoint|bytearray|callable|classmethod|compile|copyright|credits|delattr|dir|eval|exec|exit|getattr|globals|hasattr|help|id|input|license|locals|memoryview|object|property|quit|setattr|staticmethod|super|type|vars)$/

/** Names that open files: each must be called at once, with a name of a file. */
const OPENERS = /\b(open|Path|read_csv|read_json|read_parquet)\b/
const OPENED =
  /\b(?:open|Path|read_csv|read_json|read_parquet)\s*\(\s*(['"])([\w-][\w./-]*)\1\s*(,\s*['"]r[bt]?['"]\s*)?(,\s*(?:encoding\s*=\s*['"][\w-]+['"]|newline\s*=\s*(?:''|""))\s*)*\)/g

/** Whether a program text in Python only computes and prints, or reads files of the project by their names. The files are judged too. */
export function isPlainPython(call: ProgramCall, code: Arg): boolean {
  return readsPlainly(call, code, spellNames(code.value), name => MEMBERS.has(name))
}

/** A name that stands for one file and is used for nothing else, spelled where the file is opened: `p = "a.md"; open(p)`. */
export function spellNames(text: string): string {
  const named = [
    ...text.matchAll(/(?<=^|[;\n])[ \t]*([A-Za-z_]\w{0,30})[ \t]*=[ \t]*(['"])([\w-][\w./-]*)\2[ \t]*(?=[;\n]|$)/g),
  ]
  return named.slice(0, 9).reduce((left, [, name = '', , path = '']) => {
    const uses = left.split(new RegExp(`(?<![\\w.])${name}\\b`)).length - 1
    const opens = new RegExp(`(?<![\\w.])(open|Path)\\(\\s*${name}\\s*(?=[,)])`, 'g')
    const shows = left.split(new RegExp(`\\bprint\\(\\s*${name}\\s*(?=[,)])`)).length - 1
    const opened = left.match(opens)?.length ?? 0
    return uses === opened + shows + 1 ? left.replace(opens, `$1('${path}'`) : left
  }, text)
}

export function readsPlainly(call: ProgramCall, code: Arg, text: string, isMember: (name: string) => boolean): boolean {
  const { text: value, patterns } = spellLoops(text)
  if (patterns.some(pattern => /(^|\/)(certs?|keys?|private|secrets?|credentials?)\//i.test(pattern))) return false
  for (const pattern of patterns) call.path({ ...deriveArg(pattern, code), glob: /[*?[]/.test(pattern) }, 'read')
  if (value.length > 4_000 || !staysPlain(dropOwnImports(call, value), isMember) || !opensOnly(value, OPENED))
    return false
  const paths = [...value.matchAll(OPENED)].map(([, , path = '']) => path)
  if (paths.some(path => path.split('/').includes('..'))) return false
  for (const path of paths) call.path(deriveArg(path, code), 'read')
  return true
}

/** The text without the names that it takes from modules of the project, unless they sound like a deed. */
function dropOwnImports(call: ProgramCall, text: string): string {
  const aliases: string[] = []
  const left = text.replace(
    /(?<=^|[;\n]\s*|\bimport\s[\w, ]*,\s*)(import\s+|(?<=,\s*))([A-Za-z]\w*(?:\.\w+)*)\s+as\s+([A-Za-z]\w*)\s*(?=;|\n|$)/g,
    (whole, start: string, module: string, alias: string) => {
      if (MODULES.has(module.split('.')[0] ?? '') || !isOwnModule(call, module)) return whole
      aliases.push(alias)
      return start === '' ? 'json' : ''
    },
  )
  return aliases.reduce(
    (rest, alias) =>
      rest.replace(new RegExp(`(?<![.\\w'"])${alias}\\.([A-Za-z]\\w*)`, 'g'), (use, name) =>
        isDeed(name) ? use : '0',
      ),
    dropFromImports(call, dropBareImports(call, left)),
  )
}

/** `import app.core` and nothing done with it: to load a module of the project is to run it. */
function dropBareImports(call: ProgramCall, text: string): string {
  return text.replace(
    /(?<=^|[;\n]\s*)import\s+([A-Za-z]\w*)((?:\.\w+)*)\s*(?=;|\n|$)/g,
    (whole, top: string, rest: string) => {
      const module = `${top}${rest}`
      const acts = module.split('.').some(part => part !== 'app' && isDeed(part)) || module === 'app'
      const isUsed = new RegExp(`(?<![.\\w])${top}\\b`).test(text.replace(whole, ''))
      return MODULES.has(top) || acts || isUsed || !isOwnModule(call, module) ? whole : ''
    },
  )
}

function dropFromImports(call: ProgramCall, text: string): string {
  return text.replace(
    /(?<=^|[;\n]\s*)from\s+([A-Za-z]\w*(?:\.\w+)*)\s+import\s+([A-Za-z]\w*(?:\s+as\s+[A-Za-z]\w*)?(?:\s*,\s*[A-Za-z]\w*(?:\s+as\s+[A-Za-z]\w*)?)*)\s*(?=;|\n|$)/g,
    (whole, module: string, names: string) => {
      const isOwn = !MODULES.has(module.split('.')[0] ?? '') && isOwnModule(call, module)
      return isOwn && !names.split(/\s*,\s*|\s+as\s+/).some(isDeed) ? '' : whole
    },
  )
}

/**
 * A text in which a loop over names and patterns that it spells out opens each of them: `for f in glob.glob('a/*.yml') + ['b.yml']`. What is left opens a
 * name. The patterns are empty if anything else could be in the variable.
 */
function spellLoops(text: string): { text: string; patterns: string[] } {
  const name = `(?:'(?:[A-Za-z.]|\\*\\.)[\\w./*-]*'|"(?:[A-Za-z.]|\\*\\.)[\\w./*-]*")`
  const list = `(?:sorted\\(\\s*)?(?:glob\\.glob\\(\\s*${name}\\s*\\)|\\[\\s*${name}(?:\\s*,\\s*${name})*\\s*\\])\\)?`
  const [whole, variable, names = ''] =
    new RegExp(`\\bfor\\s+([a-z]\\w*)\\s+in\\s+(${list}(?:\\s*\\+\\s*${list})*)(?=\\s*[:\\])])`).exec(text) ?? []
  if (whole === undefined || variable === undefined) return { text, patterns: [] }
  const rest = text.replace(whole, `for ${variable} in []`)
  const isOnly = !new RegExp(
    `\\b${variable}\\s*(=(?!=)|:=|,[^)]*=(?!=))|\\bas\\s+${variable}\\b|\\bfor\\b[^:\\n]*\\b${variable}\\b[^:\\n]*\\bin\\s+(?!\\[\\])`,
  ).test(rest)
  const patterns = [...names.matchAll(new RegExp(name, 'g'))].map(([quoted]) => quoted.slice(1, -1))
  if (!isOnly || patterns.some(pattern => pattern.split('/').includes('..'))) return { text, patterns: [] }
  const left = rest
    .replace(/(\bimport\s+[\w, ]*?),\s*glob\b|\bimport\s+glob\s*(?=[;\n])/g, '$1')
    .replace(new RegExp(`\\bopen\\(\\s*${variable}\\s*\\)`, 'g'), "open('x')")
  return { text: left, patterns }
}

/** The folders in which Python looks for a module of the project. */
export function listModuleFolders({ given }: ProgramCall['scope']): string[] {
  const more = given.get('PYTHONPATH')?.split(':') ?? []
  return ['', 'src/', ...more.filter(part => /^[\w@./-]+$/.test(part)).map(part => `${part.replace(/\/+$/, '')}/`)]
}

/** Whether a module is a file of the project. */
export function isOwnModule(call: ProgramCall, module: string): boolean {
  const { scope, fence } = call
  const { cwd } = scope
  const base = module.replaceAll('.', '/')
  return listModuleFolders(scope).some(top =>
    [`${base}.py`, `${base}/__init__.py`].some(file => {
      const place = cwd === undefined ? undefined : locatePath(`${top}${file}`, cwd, fence)
      return (
        place?.where === 'inside' &&
        !wasWritten({ value: `${top}${file}` } as Arg, call) &&
        fence.look?.(place.path)?.is === 'file'
      )
    }),
  )
}

/** What holds for a text that computes and for one that edits. */
function staysPlain(text: string, isMember: (name: string) => boolean): boolean {
  // Names in strings count too: a format can follow them.
  const bare = readPython(text.replace(LISTS_CODE, '').replace(SHOWN_TABLE, ''))
  if (bare === undefined || /__(?!(main|version|name)__)/.test(text)) return false
  if (/['"](\/|~|\.\.)/.test(text.replace(REPLACES, '').replace(COUNTED, '')) && /\b(open|Path|read_\w+)\b/.test(bare))
    return false
  // A path can be put together: `.replace(x)` renames, and `path / x` is another file.
  if (
    /\b(pathlib|Path)\b/.test(bare) &&
    (/\//.test(bare.replace(/\/\/?\s*\d/g, ' ')) || /\.\s*replace\b(?!\s*\([^,()[\]{}*]*,\s*[^)\s*])/.test(bare))
  )
    return false
  if (/\bload\b/.test(bare) && /\b(numpy|yaml|pandas)\b/.test(bare)) return false
  if (!loadsOnly(bare, isMember)) return false
  if (![...bare.matchAll(/\.\s*([A-Za-z_]\w*)/g)].every(([, name = '']) => isMember(name))) return false
  const words = bare.replace(/\.\s*[A-Za-z_]\w*/g, ' ').match(/[A-Za-z_]\w*/g) ?? []
  return words.every(word => !BUILT_IN.test(word) && (!word.startsWith('_') || /^(_|__name__|__version__)$/.test(word)))
}

/** A text that takes the place of another one, both written out. */
const REPLACES = /\.\s*replace\s*\(\s*('[^'\\\n]*'|"[^"\\\n]*")\s*,\s*('[^'\\\n]*'|"[^"\\\n]*")\s*(?:,\s*1\s*)?\)/g

/** A text that is looked for. */
const COUNTED =
  /\.\s*count\s*\(\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*\)|\bassert\s+(?:'[^'\\\n]*'|"[^"\\\n]*")\s+(?:not\s+)?in\b/g

/** A name that stands for one text and is only looked for and replaced, spelled there: `old = "a"; s.replace(old, "b")`. */
function spellTexts(text: string): string {
  const named = [...text.matchAll(/^[ \t]*([A-Za-z_]\w{0,30})[ \t]*=[ \t]*('[^'\\\n]*'|"[^"\\\n]*")[ \t]*$/gm)]
  return named.slice(0, 9).reduce((left, [line, name = '', quoted = '']) => {
    const uses = new RegExp(
      `(?<=\\.(?:replace|count)\\(\\s*|\\.replace\\([^()]*,\\s*|\\bassert )${name}(?=\\s*[,)]| (?:not )?in\\b)`,
      'g',
    )
    const isOnly =
      left.split(new RegExp(`(?<![.\\w])${name}\\b`)).length - 2 === (left.match(uses)?.length ?? 0) &&
      left.split(line).length === 2
    return isOnly ? left.replace(line, '').replace(uses, () => quoted) : left
  }, text)
}

function loadsOnly(bare: string, isMember: (name: string) => boolean): boolean {
  const lines = bare.match(/(?<![.\w])(import|from)\b[^\n;]*/g) ?? []
  return lines.every(line => {
    const [, from, names = ''] =
      /^from\s+(\w+)\s+import\s+(\w+(?:\s+as\s+\w+)?(?:\s*,\s*\w+(?:\s+as\s+\w+)?)*)\s*$/.exec(line) ?? []
    if (from !== undefined)
      return (
        MODULES.has(from) &&
        names.split(',').every(part => isMember(/\w+/.exec(part)?.[0] ?? '')) &&
        !/\b(open|Path|load|read_\w+)\s+as\b/.test(names)
      )
    const modules = /^import\s+(\w+(?:\s+as\s+\w+)?(?:\s*,\s*\w+(?:\s+as\s+\w+)?)*)\s*$/.exec(line)?.[1]
    return modules?.split(',').every(part => MODULES.has(/\w+/.exec(part)?.[0] ?? '')) === true
  })
}

/** Whether every name that opens a file is called at once, with a file that is named in the text. */
function opensOnly(text: string, opened: RegExp): boolean {
  const bare = readPython(text.replace(LISTS_CODE, '').replace(opened, "''"))
  return bare !== undefined && !OPENERS.test(bare.replace(/\bfrom\s+\w+\s+import\s[^\n;]*/g, ''))
}

/** A table as text. With an argument it would be written into a file. */
const SHOWN_TABLE = /\.\s*(to_string|info|memory_usage)\s*\(\s*\)/g
/** All files of code below a folder. */
const LISTS_CODE =
  /\.\s*r?glob\s*\(\s*(['"])(\*\*\/)?\*?[\w-]*\.(py|ts|tsx|js|jsx|go|rs|rb|java|kt|c|h|cpp|css|md|html|vue|sql|(?:ts|md)\*)\1\s*\)/g

/**
 * A text in Python without comments and with empty strings; what a string formats stays. `undefined` if it is not sure where a string ends, or
 * if a name may be another one, as Python reads letters of other scripts.
 */
export function readPython(text: string): string | undefined {
  let isClear = !/[^\t\n\x20-\x7e]/.test(text.replace(/[^\x00-\x7f]/g, ' ')) && !/#[^\n]*coding[:=]/.test(text)
  const bare = text.replace(
    /#[^\n]*|([A-Za-z]*)('''(?:[^\\]|\\[\s\S])*?'''|"""(?:[^\\]|\\[\s\S])*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")/g,
    (_, prefix: string | undefined, quoted: string | undefined) => {
      if (quoted === undefined) return ''
      if (!/^([rbuft]|[bft]r|r[bft])?$/i.test(prefix ?? '')) isClear = false
      if (!/[ft]/i.test(prefix ?? '')) return "''"
      const inner = quoted.startsWith('"') ? FIELDS_WITH_SINGLE : FIELDS
      if (/^('''|""")/.test(quoted) || !inner.test(quoted.slice(1, -1))) isClear = false
      return `('' ${(quoted.slice(1, -1).match(/\{[^{}]*\}/g) ?? []).map(field => `(${field.slice(1, -1).replace(/'[^']*'/g, "''")})`).join(' ')})`
    },
  )
  return isClear && !/[^\t\n\x20-\x7e]|["\\`]/.test(bare) && !/'/.test(bare.replaceAll("''", '')) ? bare : undefined
}
const FIELDS = /^([^{}]|\{[^{}'"\\]*\})*$/
const FIELDS_WITH_SINGLE = /^([^{}]|\{[^{}'"\\]*('[^'"{}\\]*'[^{}'"\\]*)*\})*$/

/**
 * Whether a program text in Python does nothing but read files of the project by their names, change their texts and write them back.
 * Files are judged like those of the Write tool.
 */
export function judgeEdits(call: ProgramCall, code: Arg): boolean {
  const value = spellTexts(spellNames(code.value))
  if (writesData(call, code)) return true
  if (
    value.length > 8_000 ||
    !staysPlain(value, name => EDITING.has(name)) ||
    !opensOnly(value, CHANGED) ||
    explainWritten('', value)
  )
    return false
  // Without reading it first, a file would be replaced and not changed.
  if (!/\.\s*(read_text|read|readlines)\s*\(/.test(value) || /\.\s*write\w*\s*\(\s*(''|"")?\s*\)/.test(value))
    return false
  const paths = [...value.matchAll(CHANGED)].map(([, , path = '']) => path)
  if (paths.length === 0 || paths.some(path => path.split('/').includes('..'))) return false
  // A part of a text that is written back may lack what checks the work, or everything.
  if (
    /\[\s*:\s*-?\d+\s*\]/.test(value) ||
    (/\[[^\]\n:]*:[^\]\n]*\]/.test(value) && paths.some(path => TESTS.test(path)))
  )
    return false
  const files = paths.map(path => deriveArg(path, code))
  if (!files.every(file => staysInSandbox(file, call))) return false
  const swaps = [...value.matchAll(REPLACES)].map(([, a = '', b = '']) => ({
    from: a.slice(1, -1),
    to: b.slice(1, -1),
  }))
  for (const file of files) {
    call.path(file, 'write')
    noteWritten(file, call)
    call.change(file, () => ({ after: undefined, inserted: readInsertions(value), swaps }))
  }
  call[files.every(file => isOwnFile(file, call)) ? 'settle' : 'hold'](
    'code.edits',
    'HIGH',
    `a program text changes ${paths.join(', ')}; the Edit tool does this in the open`,
    code,
  )
  const reaching = explainCode(paths.join(', '), value)
  if (reaching) call.hold(reaching.code, reaching.risk, reaching.text, code)
  return true
}

/** Whether a text only computes, and writes what it has computed as JSON into new files that it names. */
function writesData(call: ProgramCall, code: Arg): boolean {
  const paths: string[] = []
  const take = (...[, , path = '', data = '']: string[]) => {
    paths.push(path)
    return `(${data})`
  }
  const left = DATA_WRITTEN.reduce((text, shape) => text.replace(shape, take), code.value).replace(MAKES_FOLDER, '0')
  const files = paths.map(path => deriveArg(path, code))
  if (files.length === 0 || !files.every(file => describeTarget(file, call, false).target === 'fresh')) return false
  if (!isPlainPython(call, deriveArg(left, code))) return false
  for (const file of files) {
    call.path(file, 'write')
    noteWritten(file, call)
  }
  call.say('file.make', 'MEDIUM', `a program text writes ${paths.join(', ')}`, code)
  return true
}

const NEW_FILE = `(['"])([A-Za-z][\\w./-]*\\.(?:json|jsonl|txt|csv))\\1`
const DATA_WRITTEN = [
  `(?:pathlib\\s*\\.\\s*)?Path\\(\\s*${NEW_FILE}\\s*\\)\\s*\\.\\s*write_text\\(\\s*json\\s*\\.\\s*dumps\\(([\\w\\s.,=]*)\\)\\s*(?:\\+\\s*(?:'\\\\n'|"\\\\n")\\s*)?\\)`,
  `with\\s+open\\(\\s*${NEW_FILE}\\s*,\\s*['"]w['"]\\s*\\)\\s*as\\s+f\\w?\\s*:\\s*json\\.dump\\(([\\w.]+),\\s*f\\w?(?:,\\s*indent\\s*=\\s*\\d+)?\\s*\\)`,
].map(shape => new RegExp(shape, 'g'))
const MAKES_FOLDER =
  /(?:\bpathlib\s*\.\s*)?\bPath\(\s*(['"])[A-Za-z][\w/-]*\1\s*\)\s*\.\s*mkdir\(\s*(?:(?:exist_ok|parents)\s*=\s*True\s*,?\s*)*\)/g

/** Tests, by their folder or their name. */
const TESTS = /(^|\/)(tests?|specs?|__tests__)\/|[._-](test|spec)\.|(^|\/)test_/

/** The texts that a program text puts in place of others, or adds. */
function readInsertions(text: string): string {
  const string = `[rbuft]*('''[\\s\\S]*?'''|"""[\\s\\S]*?"""|'(?:[^'\\\\\\n]|\\\\.)*'|"(?:[^"\\\\\\n]|\\\\.)*")`
  const shape = new RegExp(`\\b(?:replace|subn?)\\s*\\(\\s*${string}\\s*,\\s*${string}`, 'g')
  const isAdded = ({ index, 0: whole }: RegExpExecArray) =>
    /\+\s*$/.test(text.slice(Math.max(0, index - 9), index)) ||
    /^\s*\+/.test(text.slice(index + whole.length, index + whole.length + 9))
  const added = [...text.matchAll(new RegExp(string, 'g'))].filter(isAdded).map(([whole]) => whole)
  return [...[...text.matchAll(shape)].map(([, , to = '']) => to), ...added]
    .map(to => to.replace(/^['"]+|['"]+$/g, ''))
    .join('\n')
}

const EDITING = new Set([...MEMBERS, 'write_text', 'write', 'writelines', 'close'])
const CHANGED =
  /\b(?:open|Path)\s*\(\s*(['"])([\w-][\w./-]*)\1\s*(,\s*['"][rw]t?['"]\s*)?(,\s*(?:encoding|newline)\s*=\s*['"][\w-]*['"]\s*)*\)/g

/** Judges the strings of a text that only reads: each may be the name of a file. */
export function judgeStrings(call: ProgramCall, code: Arg): undefined {
  for (const [, single, double] of code.value.matchAll(/'([^'\n]*)'|"([^"\n]*)"/g)) {
    const value = single ?? double ?? ''
    if (/^[\w@./-]+$/.test(value)) call.secret(deriveArg(value, code))
    if (/^(\.\/)?\w[\w/-]*(\.[\w-]+)+$/.test(value)) call.path(deriveArg(value, code), 'read')
  }
}
