import { opensOnlyNamed, readPython, withoutOpened } from './plain-code.ts'
import { reachesBeyond } from './step-names.ts'

// Program texts that call the project's own code, or that of an installed package, by plain names. In a sandbox that is what a test does too.
// Names are read by their parts, because a text can reach a module through another one: `from app.util import os as o`.

/** Parts of names that run, write, send, remove, load code, connect, or hold a secret. */
const REACHING = new Set(
  `system popen spawn exec execute execve fork kill killpg remove unlink rm rmdir rmtree delete drop truncate purge destroy wipe nuke write save dump put
   post patch send upload download request requests response urlopen urlretrieve connect connection socket fetch load unpickle unload open
   secret secrets token tokens password passwd pwd credential credentials apikey private environ env getenv putenv reset clear flush commit
   publish deploy migrate rollback shell sh bash zsh powershell terminal command cmd subprocess shutil mail email notify pay charge refund run start launch serve listen bind
   call apply constructor prototype proto reflect proxy eval compile import importlib module modules loader builtins globals locals vars
   agg aggregate transform pipe decode fromhex databases database dsn url uri broker getattr setattr delattr hasattr attrgetter methodcaller breakpoint input code pickle marshal ctypes os posix io pty signal thread process
   worker child assembly vm global window self arguments function generator http https net dns ftp smtp ssh docker s3 boto3 memmap tofile fromfile savetxt
   genfromtxt loadtxt read glob rglob iterdir walk hub cpp inline link rename move copy copytree mkdir chmod chown install pip`.split(
    /\s+/,
  ),
)
/** Names with such a part that only change the form of a value, or read what was opened by its name. */
const HARMLESS = new Set('key read readlines read_text to_string to_dict to_list to_numpy to_datetime'.split(' '))

/** Modules of Python itself that do more than compute, and packages that talk to others, run programs or load objects. */
const FAR_MODULES = new Set(
  `aifc antigravity argparse asynchat asyncio asyncore atexit audioop bdb builtins bz2 cProfile cgi cgitb chunk cmd code codecs codeop
   compileall concurrent configparser contextlib contextvars copyreg crypt ctypes curses dbm dis distutils doctest email encodings
   ensurepip errno faulthandler fcntl filecmp fileinput fnmatch ftplib gc genericpath getopt getpass gettext glob grp gzip http idlelib
   imaplib imghdr imp importlib inspect io lib2to3 linecache locale logging lzma mailbox mailcap marshal mimetypes mmap modulefinder
   msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path opcode optparse os ossaudiodev pdb pickle pickletools pipes
   pkgutil plistlib poplib posix posixpath profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri readline reprlib
   resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd
   sqlite3 sre_compile sre_constants sre_parse ssl stat subprocess sunau symtable sysconfig syslog tabnanny tarfile telnetlib tempfile
   termios this threading timeit tkinter token tokenize trace traceback tracemalloc tty turtle turtledemo types typing unittest urllib uu
   venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport
   cffi setuptools pip pkg_resources test ptyprocess requests httpx aiohttp urllib3 paramiko fabric boto3 botocore google azure openai
   anthropic websockets websocket pycurl sh plumbum invoke pexpect psutil docker kubernetes redis pymongo psycopg2 psycopg mysql MySQLdb
   pymysql asyncpg git dulwich github gitlab slack_sdk slack telegram discord twilio sendgrid stripe cloudpickle dill joblib fsspec s3fs
   smart_open execjs js2py keyring pytest ray dask pyspark celery transformers datasets huggingface_hub wandb mlflow IPython jinja2 mako
   tensorflow streamlit gradio selenium playwright scrapy twisted tornado zmq pika kafka confluent_kafka elasticsearch neo4j pysftp dropbox supabase`.split(
    /\s+/,
  ),
)

const PLAIN_DUNDER = /\b__(main|version|name|file|doc)__\b/g

/** Whether a text in Python calls only code of the project or of its packages by plain names, without a name or a string that reaches further. */
export function isProjectPython(text: string): boolean {
  const bare = readPython(withoutOpened(text))
  if (bare === undefined || !opensOnlyNamed(text) || text.length > 4_000 || /__/.test(text.replace(PLAIN_DUNDER, '')))
    return false
  const lines = bare.match(/(?<![.\w])(import|from)\b[^\n;]*/g) ?? []
  const names = String.raw`\w+(?:\s+as\s+\w+)?(?:\s*,\s*\w+(?:\s+as\s+\w+)?)*`
  const modules = lines.map(line => {
    const [, from] = new RegExp(String.raw`^from\s+(\w[\w.]*)\s+import\s+${names}\s*$`).exec(line) ?? []
    return from ?? /^import\s+(\w[\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*\w[\w.]*(?:\s+as\s+\w+)?)*)\s*$/.exec(line)?.[1]
  })
  if (!modules.every(one => one?.split(/\s*,\s*/).every(name => !FAR_MODULES.has(name.split(/[.\s]/)[0] ?? ''))))
    return false
  // A path can be put together or renamed, and what opens files must keep its name.
  if (/\b(pathlib|Path)\b/.test(text) && /\/|\.\s*replace\b/.test(bare)) return false
  if (/\b(open|Path|read_\w+)\s+as\b|\.\s*(read|readlines|read_text)\s*\(\s*(?!\)|encoding\s*=)/.test(bare))
    return false
  // A query of a table of pandas is code; one of a database is built by its library.
  if (/[\])]\s*\(|@/.test(bare) || (/\bpandas\b/.test(bare) && /\bquery\b/.test(bare))) return false
  return staysNear(bare.replace(/(?<![.\w])(import|from|as)\b/g, ' '), text)
}

/** The same for JavaScript. `bare` is the text without strings and modules, as the reader of plain texts gives it. */
export function isProjectJavaScript(text: string, read: (code: string) => string | undefined): boolean {
  if (text.length > 4_000) return false
  // A package that is installed may be anybody's; its description is only read.
  const isNear = (name: string) =>
    /^(\.\/[\w@./-]+|(node:)?(path|url|util|assert|querystring)|(@[\w-]+\/)?[\w-]+\/package\.json)$/.test(name) &&
    !/(^|\/)(\.|node_modules\/)/.test(name.slice(2)) &&
    !reachesBeyond(name) &&
    !name.split(/[./@-]+/).some(part => REACHING.has(part))
  const without = text
    .replace(/\bimport\s*\{\s*readFileSync\s*\}\s*from\s*['"](node:)?fs['"]\s*;?/g, ' ')
    .replace(/(?<![.\w])readFileSync\(\s*(['"])(\.\/)?\w[\w/-]*(\.[\w-]+)*\1\s*(,\s*['"]utf-?8['"]\s*)?\)/g, ' 0 ')
    .replace(/\b(?:require|import)\(\s*(['"])([\w@./:-]+)\1\s*\)/g, (all, _, name: string) =>
      isNear(name) ? ' 0 ' : all,
    )
    .replace(/\bimport\s+([\w\s{},*]+?)\s+from\s*(['"])([\w@./:-]+)\2/g, (all, bound: string, _, name: string) =>
      isNear(name) ? ` ${bound} ` : all,
    )
  const bare = read(without)
  return bare !== undefined && staysNear(bare, text)
}

/** Whether a module of Python, by its first part, reaches further than its arguments. */
export function isFarModule(name: string): boolean {
  return FAR_MODULES.has(name.split('.')[0] ?? '')
}

/** Whether every name is one without a reaching part, and every string one that names nothing outside of the project. */
function staysNear(bare: string, text: string): boolean {
  if (/['"`]\s*(\/|~)|:\/\/|\.\.\/|\b(drop|truncate|delete|alter|update|insert)\s+\w/i.test(text)) return false
  // A function can be named by a string: `.agg('to_csv')`.
  const strings = [...text.matchAll(/(['"])([A-Za-z_]\w*)\1/g)].map(([, , name = '']) => name)
  return [...(bare.match(/[A-Za-z_$][\w$]*/g) ?? []), ...strings].every(name => {
    if (HARMLESS.has(name)) return true
    if (/^to_/.test(name)) return false
    const parts = name
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .split(/[_$]+/)
    return !parts.some(part => REACHING.has(part)) && !(parts.length > 1 && parts.at(-1) === 'key')
  })
}
