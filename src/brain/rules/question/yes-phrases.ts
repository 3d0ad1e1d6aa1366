/** Ways to ask for leave: what follows is what somebody would do. Each line holds alternatives of a regular expression. */
const LEAVE = lines(`
(?:shall|should|may|can|could|do) (?:i|we)(?: now| just| then)?
(?:do you )?(?:want|wish) (?:me|us) to|would you like (?:me|us) to|would you like to|do you want to
(?:is it |are you |am i |are we |all |it's |if it's |if you're )?(?:ok|okay|fine|good|happy|ready|clear|alright|safe)(?: with you| by you| for me| for you)? (?:to|if i|for me to|with me)
permission to|good to|(?:if|whether) (?:i|we) (?:should|can|may)|would it be ok(?:ay)? (?:to|if i)`)

const ON = lines(`
proceed|proceeding|continue|continuing|go ahead|going ahead|go on|going on|move on|move forward|move ahead|keep going
carry on|resume|start|begin|get started|start implementing|begin implementing|press on`)

const GOING_ON_ALONE = lines(String.raw`
(?:^|[.!?:\n]\s*|\bto )(?:proceed|continue|go ahead|ready to go|(?:are you |all )?ready|shall we|keep going)(?: now| with (?:this|the|that) [\w -]{1,60}| as planned)?\s*\?
\b(?:approve|confirm|accept|agree with|happy with|okay with|ok with) (?:this|the|that|my) (?:\w+ )?(?:plan|approach|design|proposal|outline|changes|steps)\b
\b(?:does|do|is|are) (?:this|that|the|these|my|it)(?: \w+){0,3} (?:look|sound|seem|work)s? (?:good|right|ok|okay|fine|reasonable|correct|for you)
(?:sounds?|looks?) good\s*\?|\bmay i\s*\?|\bshall i\s*\?`)

/** Steps that belong to every piece of work and that the next commit can take back. */
const STANDARD_STEP = lines(String.raw`
(?:run|re-?run|execute) (?:the |all |our |these |some )?(?:\w+ )?(?:unit |integration |full |existing |new |e2e )*(?:tests?|test suite|suite|linter|lint|type ?check(?:s|er)?|formatter|build|specs?|checks?|benchmarks?)
(?:add|write|create|include|extend|update|improve|expand)(?: (?:some|more|the|a|an|few|new|missing|additional|corresponding|basic|unit|integration|regression|inline|api|short|brief|proper|relevant|helpful|automated))* (?:tests?|test cases?|test coverage|docs?|documentation|docstrings?|comments?|readme|changelog(?: entry)?|types?|type hints?|type annotations?|error handling|error messages?|logging|validation|input validation|examples?|fixtures?|doc comments?|usage notes?|jsdoc|edge cases?)
(?:fix|resolve|address|correct)(?: \w+){0,3} (?:lint\w*|type|typos?|tests?|failing|failures?|errors?|warnings?|bugs?|issues?|formatting|imports?|indentation)(?: \w+){0,3}
(?:format|lint|type-?check|tidy|reformat) (?:the |this |these |all )?(?:code|files?|project|changes|sources?)
(?:commit|stage) (?:the|these|this|those|my|it|all|them|what)(?: \w+){0,3}(?: (?:locally|to git|now))?
install (?:the |these |all |missing |required |project |project's |dev )*(?:dependencies|packages|requirements|types)
(?:create|make|generate|scaffold) (?:the|a|an|this|these|that|new)(?: \w+){0,3} (?:file|module|component|folder|directory|test|class|function|branch|interface|type|stub|page|route|hook)s?
(?:implement|finish|complete|build|wire up|handle|cover) (?:the|this|these|that|it|them|all|rest|remaining|next)(?: [\w-]+){0,6}
(?:refactor|rename|extract|simplify|clean up|document|split|move) (?:the|this|these|that|it|them)(?: [\w-]+){0,6}
(?:update|adjust|modify|extend) (?:the|this|these|that|existing)(?: [\w-]+){0,4} (?:accordingly|tests?|types?|imports?|code|files?|component|function|module|config|configuration|references|callers|call sites|schema)
apply (?:the|this|these|that|it)(?: \w+){0,2} (?:fix|changes?|patch|refactoring|suggestions?|edits?)
make (?:the|this|these|those|that)(?: \w+){0,2} (?:changes?|edits?|fix|updates?)
do (?:it|that|this|so)(?: now| for you)?|look into (?:it|this|that)`)

/** Leave to go on with the work, asked with a helper ("shall I proceed …") or alone ("Proceed?"). */
export const GOES_ON = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:now |please |simply |then |just )?(?:${ON})\b|${GOING_ON_ALONE}`,
  'i',
)

/** Leave for one standard step, and a little about it. */
export const STANDARD = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:also |now |please |just |go ahead and |first |then )*(?:${STANDARD_STEP})\b[^?]{0,80}\?`,
  'i',
)

function lines(text: string): string {
  return text.trim().split('\n').join('|')
}
