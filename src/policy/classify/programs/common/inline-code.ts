import type { Call } from '../../call.ts'
import type { Arg } from '../../words/arg.ts'

/** What a program text in another language must not hold to pass without a person: it deletes, writes, runs, sends, or hides. */
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

/** Text in the program's language given on the command line or on standard input: never LOW, HIGH when it does more than compute. */
export function judgeInline(call: Call, code: Arg): undefined {
  if (!code.known) {
    call.say('code.unknown', 'HIGH', 'part of the program text is known only when it runs', code)
    return
  }
  if (PRINTS_A_TEXT.test(code.value))
    return call.say('code.plain', 'MEDIUM', `a program for ${call.name} that prints a text`, code)
  const hit = [...ALARMING, FOREIGN].map(shape => shape.exec(code.value)).find(found => found !== null)
  if (hit)
    return call.say('code.alarming', 'HIGH', `the program text holds ${JSON.stringify(hit[0].slice(0, 40))}`, code)
  if (onlyComputes(code.value))
    return call.say('code.plain', 'MEDIUM', `a short program for ${call.name} that computes and prints`, code)
  call.say('code.inline', 'MEDIUM', `a program text for ${call.name}`, code)
}

/** One call that prints one literal, in which nothing is interpolated. */
const PRINTS_A_TEXT = /^\s*(console\.log|print|puts|echo|say|println!?)\s*\(?\s*(['"])[^'"\\$`#@{]*\2\s*\)?\s*;?\s*$/

/** Code that is taken from outside the project or from the text itself. */
const FOREIGN =
  /\b(require|require_once|include|include_once|import|from|do|dofile|use|load|require_relative|source)\b\s*\(?\s*["'](\/|~|\.\.\/|data:|https?:|file:)/

/** Every name in the text must be one of these for it to count as computing and printing only. */
const PLAIN = new Set(
  'print printf println puts p pp console log error info table echo say len range str int float bool list dict set tuple sorted sort reverse reversed sum min max map filter reduce zip enumerate any all abs round join split strip trim replace match test index indexOf includes startsWith endsWith upper lower toUpperCase toLowerCase slice substring push pop keys values items entries get has length size format repr type isinstance typeof import from as json sys stdin read readline readlines load loads dumps parse stringify JSON Object Array Math String Number Date now Boolean RegExp require open encoding version name package tsconfig dependencies devDependencies scripts main platform argv math re os path pathlib collections Counter datetime time fs readFileSync utf8 statistics for in of if else elif while not and or is None True False null undefined true false let const var function return lambda def end do then new this self x y z i j k n v a b c d e f s t r l m data obj line lines res result key value item file count total sqrt floor ceil pow toFixed forEach find some every flat flatMap fill BEGIN END NF NR FNR FS OFS RS ORS RSTART RLENGTH substr gsub sub tolower toupper getline next delete exit process memoryUsage versions node v8 arch uptime hrtime'.split(
    ' ',
  ),
)

const OPENS = /\bopen\b/
/** A file of the project by its plain name, to be read. */
const OPENS_TO_READ =
  /\bopen\s*\(\s*(['"])\w[\w/-]*(\.[\w/-]+)*\1\s*(,\s*['"]r[bt]?['"]\s*)?(,\s*encoding\s*=\s*['"][\w-]+['"]\s*)?\)/g

function onlyComputes(code: string): boolean {
  if (code.length > 600 || OPENS.test(code.replace(OPENS_TO_READ, ''))) return false
  // Texts that are glued together are names in pieces.
  if (/["'`]\s*(\+|\.\.|\.)\s*["'`]/.test(code)) return false
  const bare = code.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, ' ').replace(/\/(?:[^/\\\n]|\\.)+\/[a-z]*/g, ' ')
  if (/[`|<>]{1,2}\s*["'`]|`|["']/.test(bare) || /\/[^/]*["'][^/]*\//.test(code)) return false
  return (bare.match(/[A-Za-z_]\w*/g) ?? []).every(word => PLAIN.has(word) || /^[a-z]$/i.test(word))
}
