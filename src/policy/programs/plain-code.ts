import type { ProgramCall } from '../classify/call.ts'
import { explainWritten, noteWritten, staysInSandbox } from '../classify/judge-file.ts'
import { type Arg, deriveArg } from '../shell/args.ts'

// Short program texts that only compute, read files of the project and print. What a text can reach is decided by the modules that it
// loads and by the names in it, so both are lists of what is allowed.

/** Modules of Python without a way to processes, the network or other files, but for the names in `REACHING`. */
const MODULES = new Set(
  `json re math cmath sys tomllib csv ast dis inspect textwrap itertools functools collections datetime time calendar decimal fractions statistics
   random string unicodedata struct zlib hashlib uuid platform pprint typing dataclasses enum numpy pandas yaml configparser difflib pathlib
   operator bisect heapq numbers keyword locale html graphlib zoneinfo colorsys abc copy contextlib`.split(/\s+/),
)

/** Names by which such a module, or the language itself, reaches further. */
const REACHING =
  /\b(_\w*|\w*__\w*|os|io|sys\s*\.\s*modules|modules|subprocess|shutil|socket|builtins|codecs|ctypes|importlib|posix|nt|pty|site|runpy|code|multiprocessing|threading|asyncio|signal|tempfile|glob|fileinput|linecache|pickle|shelve|dbm|sqlite3|getattr|setattr|delattr|hasattr|vars|locals|globals|eval|exec|compile|input|breakpoint|memoryview|f_\w+|gi_\w+|cr_\w+|co_\w+|func_\w+|mro|unsafe_load|full_load|save\w*|tofile|fromfile|dump|dump_all|memmap|DataSource|ctypeslib|f2py|genfromtxt|loadtxt|fromregex|write\w*|touch|mkdir|rmdir|unlink|rename|symlink_to|hardlink_to|link_to|chmod|lchmod|home|expanduser|cwd|owner|group|iterdir|glob|rglob|walk|absolute|resolve|parent|parents|settrace|setprofile|addaudithook|stdout|stderr|stdin|exc_info|breakpointhook|displayhook|excepthook|path_hooks|meta_path|getsourcefile|currentframe|stack|trace|to_(?:csv|json|excel|parquet|pickle|sql|hdf|html|feather|stata|gbq|clipboard|xml|latex|orc)|read_(?!csv\b|json\b|parquet\b|text\b)\w+|query|HDFStore|ExcelWriter|getmembers|getmembers_static|getattr_static|getmodule|attrgetter|methodcaller|types|FunctionType|CodeType|testing|distutils|compat|core|runstring|rundocs|joinpath|with_name|with_suffix|with_stem|make_dataclass|Formatter)\b/

/** Whether a program text in Python only computes and prints, or reads files of the project by their names. */
export function isPlainPython(text: string): boolean {
  return (
    text.length <= 2_000 &&
    staysPlain(text) &&
    !REACHING.test(hideStrings(text.replace(LISTS_CODE, ''))) &&
    readsByName(text)
  )
}

/** All files of code below a folder. */
const LISTS_CODE =
  /\.\s*r?glob\s*\(\s*(['"])(\*\*\/)?\*?[\w-]*\.(py|ts|tsx|js|jsx|go|rs|rb|java|kt|c|h|cpp|css|md|html|vue|sql)\1\s*\)/g

/** What holds for a text that computes and for one that edits. */
function staysPlain(text: string): boolean {
  // Names in strings count too: a format can follow them.
  if (/__(?!(main|version|name)__)/.test(text) || !loadsOnly(text)) return false
  const bare = hideStrings(text)
  // `.replace(x)` of a path renames, `.open('w')` writes, and `path / 'x'` is another file.
  if (/\.\s*replace\s*\(\s*[^,()]*\)|\.\s*open\b|[\w)\]]\s*\/\s*f?'/.test(bare)) return false
  return !/(?<!\b(json|tomllib)\s*\.\s*)\bload\b/.test(bare)
}

function loadsOnly(text: string): boolean {
  const bare = hideStrings(text)
  const lines = bare.match(/(?<![.\w])(import|from)\b[^\n;]*/g) ?? []
  return lines.every(line => {
    const from = /^from\s+([\w.]+)\s+import\s/.exec(line)?.[1]
    const names = from !== undefined ? [from] : line.replace(/^import\s+/, '').split(',')
    return names.every(name => MODULES.has(/^\s*(\w+)/.exec(name)?.[1] ?? ''))
  })
}

/** Whether every file that is opened is named in the text, and only read. */
function readsByName(text: string): boolean {
  const left = text.replace(
    /\b(open|Path|read_csv|read_json|read_parquet)\s*\(\s*(['"])[\w-][\w./-]*\2\s*(,\s*['"]r[bt]?['"]\s*)?(,\s*encoding\s*=\s*['"][\w-]+['"]\s*)?\)/g,
    '',
  )
  return (
    !/\b(open|Path|PosixPath|PurePath|read_csv|read_json|read_parquet)\s*\(/.test(hideStrings(left)) &&
    !/['"](\/|~|\.\.)/.test(text)
  )
}

function hideStrings(text: string): string {
  return text
    .replace(/'''[\s\S]*?'''|"""[\s\S]*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/#[^\n]*/g, '')
}

/** Names of other languages in texts that only compute and print, besides names of a single letter. */
const WORDS: Record<string, Set<string>> = {
  ruby: new Set(
    `puts p pp print require json yaml csv set date time JSON YAML CSV File read parse load_file safe_load dig keys values map select reject
     sort sort_by uniq first last count size length sum min max join split each each_with_index each_with_object to_s to_i to_f to_a
     to_h to_sym inspect name key values_at fetch include any all none group_by tally zip flatten compact reverse upcase downcase strip gsub
     sub match scan Date Time now today strftime Set nil true false if else unless end do in then and or not ENV_NONE RUBY_VERSION`.split(
      /\s+/,
    ),
  ),
  rails: new Set(
    `puts p pp print count find find_by where first last limit pluck order group having sum average minimum maximum columns column_names map
     name all exists size length inspect to_a to_s keys values desc asc distinct attributes as_json to_json ids not joins includes left_joins
     select table_name reflect_on_all_associations validators nil true false status open closed id created_at updated_at type email title`.split(
      /\s+/,
    ),
  ),
  php: new Set(
    `echo print print_r var_dump var_export count strlen strtoupper strtolower implode explode json_encode json_decode phpversion date time
     PHP_VERSION PHP_EOL PHP_OS PHP_OS_FAMILY PHP_INT_MAX PHP_INT_SIZE extension_loaded array_keys array_values array_sum range sort max min round
     true false null App Models all first find where pluck exists latest oldest sum avg get toArray str_repeat ucfirst trim number_format intdiv`.split(
      /\s+/,
    ),
  ),
  elixir: new Set(
    `IO inspect puts Enum sum map filter reduce count sort sort_by max min join into zip uniq reverse take drop range String upcase downcase split
     length Map keys values get put List first last Integer to_string parse Float round Kernel div rem fn end do if else true false nil and or not`.split(
      /\s+/,
    ),
  ),
}

/** Whether a program text of another language only computes and prints. */
export function isPlainText(language: string, text: string): boolean {
  const words = WORDS[language]
  if (
    words === undefined ||
    text.length > 600 ||
    /[`|]\s*["']|`|\$\{|#\{|\$_|\\u|%x|["']\s*\.\s*["']|<<<|\?>/.test(text)
  )
    return false
  // A text or a variable that is called is a function of that name, and what is required is of the language itself.
  if (/(\$\w+|["'\])])\s*\(/.test(text.replace(/\)\s*(?=\))/g, ')')) && language === 'php') return false
  if (/\brequire\b(?!\s*\(?\s*["'](json|yaml|csv|set|date|time|pp)["'])/.test(text)) return false
  // A file is read only by its plain name.
  if (/\b(read|load_file)\b(?!\s*\(\s*["'][\w-][\w/-]*(\.[\w-]+)*["']\s*\))/.test(text)) return false
  const bare = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, ' ').replace(/(?<=[{(,]\s*)\w+:(?!:)/g, ' ')
  // A model of the project is a name with a capital letter; the standard library's are not models.
  const isModel = (name: string) =>
    (language === 'rails' || language === 'php') && /^[A-Z][a-z]\w*$/.test(name) && !LIBRARY.test(name)
  return (bare.match(/[A-Za-z_]\w*/g) ?? []).every(name => words.has(name) || isModel(name) || /^[a-z]$/.test(name))
}

const LIBRARY =
  /^(Rails|File|IO|Dir|Kernel|Process|Open\w*|Object|Module|Class|Active\w*|Application\w*|Action\w*|Net|Socket|Fileutils|FileUtils|Pathname|Tempfile|Marshal|Method|Binding|Signal|Thread|Etc|Artisan|Storage|Illuminate|Process|Http|Cache|Config|Env|Crypt|Hash|Mail|Queue|Redis|Schema|Doctrine|Reflection\w*|Closure|Splfile\w*|SplFile\w*|Phar\w*|Directory\w*|Exception|System|Code|Port|Node|Agent)$/

/**
 * Whether a program text in Python does nothing but read files of the project by their names, change their texts and write them back.
 * Files are judged like those of the Write tool.
 */
export function judgeEdits(call: ProgramCall, code: Arg): boolean {
  const { value } = code
  if (value.length > 8_000 || !staysPlain(value) || explainWritten('', value)) return false
  // Without reading it first, a file would be replaced and not changed.
  if (!/\.\s*(read_text|read|readlines)\s*\(/.test(value) || /\.\s*write\w*\s*\(\s*(''|"")?\s*\)/.test(value))
    return false
  const paths = [...value.matchAll(/\b(?:open|Path)\s*\(\s*(['"])([\w-][\w./-]*)\1/g)].map(([, , path = '']) => path)
  const calls = hideStrings(value).match(/\b(open|Path|PosixPath|PurePath)\s*\(/g) ?? []
  if (paths.length === 0 || paths.length !== calls.length || paths.some(path => path.split('/').includes('..')))
    return false
  const rest = hideStrings(value).replace(/\.\s*(write_text|write|writelines)\s*\(/g, '(')
  if (REACHING.test(rest)) return false
  const files = paths.map(path => deriveArg(path, code))
  if (!files.every(file => staysInSandbox(file, call))) return false
  for (const file of files) {
    call.path(file, 'write')
    noteWritten(file, call)
  }
  call.hold(
    'code.edits',
    'HIGH',
    `a program text changes ${paths.slice(0, 3).join(', ')}; the Edit tool does this in the open`,
    code,
  )
  return true
}

/** Judges the strings of a text that only reads: each may be the name of a file. */
export function judgeStrings(call: ProgramCall, code: Arg): undefined {
  for (const [, single, double] of code.value.matchAll(/'([^'\n]*)'|"([^"\n]*)"/g)) {
    const value = single ?? double ?? ''
    if (/^[\w@./-]+$/.test(value)) call.secret(deriveArg(value, code))
  }
}
