f:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 48
	mov	QWORD PTR -40[rbp], rdi
	mov	DWORD PTR -44[rbp], esi
	mov	DWORD PTR -48[rbp], edx
	mov	DWORD PTR -4[rbp], 57
	mov	QWORD PTR -16[rbp], 93
	mov	DWORD PTR -20[rbp], 32
	cmp	DWORD PTR -48[rbp], 61
	je	.L2
	cmp	DWORD PTR -48[rbp], 61
	jg	.L3
	cmp	DWORD PTR -48[rbp], 54
	je	.L4
	cmp	DWORD PTR -48[rbp], 54
	jg	.L3
	cmp	DWORD PTR -48[rbp], 34
	je	.L5
	cmp	DWORD PTR -48[rbp], 34
	jg	.L3
	cmp	DWORD PTR -48[rbp], -4
	je	.L6
	cmp	DWORD PTR -48[rbp], -4
	jg	.L3
	cmp	DWORD PTR -48[rbp], -7
	je	.L2
	cmp	DWORD PTR -48[rbp], -7
	jg	.L3
	cmp	DWORD PTR -48[rbp], -23
	je	.L7
	cmp	DWORD PTR -48[rbp], -23
	jg	.L3
	cmp	DWORD PTR -48[rbp], -52
	je	.L8
	cmp	DWORD PTR -48[rbp], -52
	jg	.L3
	cmp	DWORD PTR -48[rbp], -71
	je	.L9
	cmp	DWORD PTR -48[rbp], -71
	jg	.L3
	cmp	DWORD PTR -48[rbp], -94
	je	.L2
	cmp	DWORD PTR -48[rbp], -84
	je	.L10
	jmp	.L3
.L2:
	mov	rax, QWORD PTR -40[rbp]
	mov	edx, eax
	mov	eax, DWORD PTR -20[rbp]
	add	eax, edx
	mov	DWORD PTR -20[rbp], eax
	mov	eax, DWORD PTR -48[rbp]
	cdqe
	mov	rdi, rax
	call	g2@PLT
	mov	eax, DWORD PTR -20[rbp]
	jmp	.L11
.L8:
	mov	eax, DWORD PTR -48[rbp]
	mov	DWORD PTR -20[rbp], eax
	mov	rax, QWORD PTR -16[rbp]
	mov	rdi, rax
	call	g2@PLT
	mov	DWORD PTR -20[rbp], eax
	mov	eax, DWORD PTR -44[rbp]
	cdqe
	add	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -44[rbp]
	sub	eax, 884
	mov	DWORD PTR -20[rbp], eax
.L10:
	mov	QWORD PTR -16[rbp], 600
	mov	eax, DWORD PTR -44[rbp]
	add	eax, 13
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -48[rbp]
	mov	edi, eax
	call	g0@PLT
	jmp	.L3
.L6:
	mov	edi, 47
	call	g0@PLT
	mov	DWORD PTR -20[rbp], eax
	jmp	.L3
.L4:
	mov	eax, DWORD PTR -44[rbp]
	and	eax, 321
	mov	DWORD PTR -4[rbp], eax
	mov	rax, QWORD PTR -40[rbp]
	mov	edx, eax
	mov	rax, QWORD PTR -16[rbp]
	mov	esi, edx
	mov	edi, eax
	call	g1@PLT
	jmp	.L3
.L7:
	mov	eax, DWORD PTR -4[rbp]
	mov	esi, eax
	mov	edi, 578
	call	g1@PLT
	mov	DWORD PTR -4[rbp], eax
	jmp	.L3
.L9:
	mov	rax, QWORD PTR -40[rbp]
	mov	edx, eax
	mov	rax, QWORD PTR -16[rbp]
	mov	esi, edx
	mov	edi, eax
	call	g1@PLT
	mov	DWORD PTR -4[rbp], eax
	jmp	.L3
.L5:
	mov	eax, DWORD PTR -48[rbp]
	mov	esi, 29
	mov	edi, eax
	call	g1@PLT
	mov	DWORD PTR -4[rbp], eax
	nop
.L3:
	mov	eax, DWORD PTR -48[rbp]
	cdqe
	mov	rdi, rax
	call	g2@PLT
	mov	DWORD PTR -20[rbp], eax
	mov	eax, DWORD PTR -4[rbp]
.L11:
	leave
	ret
	.size	f, .-f
